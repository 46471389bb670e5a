# ruff: noqa: E501, RUF001 - tables; the phrases are written in their languages' own letters
"""Phrases of models to decline, or to ask for a conversation already given."""

REFUSALS = (
    "i'm sorry, but i can", "i'm sorry, i can", "i am sorry, but i can", "sorry, but i can", "sorry, i can", "i cannot ", "i can't ",
    "i'm unable to", "i am unable to", "i'm not able to", "i won't be able", "i will not ", "i must decline", "i apologize, but",
    "unfortunately, i can", "as an ai", "i don't have access", "i do not have access", "i don't have enough", "i'm afraid i can",
    "es tut mir leid", "tut mir leid", "leider kann ich", "ich kann ", "ich bin nicht in der lage", "entschuldigung, aber ich",
    "je suis désolé", "désolé, ", "je ne peux pas", "je ne suis pas en mesure", "malheureusement, je ne",
    "lo siento", "no puedo ", "me temo que no", "lamentablemente, no puedo", "lamento, pero",
    "desculpe", "sinto muito", "não posso ", "infelizmente, não posso", "lamento, mas",
    "mi dispiace", "non posso ", "purtroppo non posso", "spiacente",
    "het spijt me", "sorry, maar ik", "ik kan niet", "ik kan geen", "helaas kan ik",
    "przykro mi", "niestety nie mogę", "niestety, nie mogę", "nie mogę ", "przepraszam, ale",
    "üzgünüm", "maalesef ", "özür dilerim",
    "извините", "к сожалению, я не", "я не могу", "прошу прощения", "простите, но", "мне жаль",
    "вибачте", "на жаль, я не", "я не можу", "перепрошую",
    "抱歉", "很抱歉", "对不起", "我无法", "我不能", "不好意思", "對不起", "我無法",
    "申し訳ありません", "申し訳ございません", "すみませんが", "恐れ入りますが", "お答えできません",
    "죄송합니다", "죄송하지만", "미안하지만",
    "عذرا", "عذرًا", "آسف", "أنا آسف", "للأسف", "لا أستطيع", "لا يمكنني", "أعتذر",
    "מצטער", "אני מצטער", "סליחה", "איני יכול", "אני לא יכול", "לצערי",
    "क्षमा करें", "माफ़ कीजिए", "माफ करें", "मुझे खेद है", "मैं नहीं कर",
)  # fmt: skip
"""First words of a refusal, case-folded, with straight apostrophes."""

REQUESTS_FOR_INPUT = (
    "provide the conversation", "share the conversation", "provide the transcript", "share the transcript", "paste the conversation",
    "provide the text", "provide me with the", "please provide the", "please share the", "what would you like me to",
    "how can i help", "how can i assist", "how may i assist", "no conversation to summarize", "no messages to summarize",
    "there is no conversation", "there is nothing to summarize", "conversation is empty", "transcript is empty", "no conversation was provided",
    "haven't provided", "have not provided", "didn't provide", "no transcript was provided", "i don't see any conversation",
    "bitte geben sie mir", "bitte stellen sie", "bitte teile mir", "bitte teilen sie", "wie kann ich ihnen helfen", "wie kann ich dir helfen",
    "veuillez fournir", "veuillez partager", "comment puis-je vous aider",
    "por favor, proporcione", "proporciona la conversación", "comparte la conversación", "en qué puedo ayudar",
    "por favor, forneça", "forneça a conversa", "como posso ajudar",
    "fornisci la conversazione", "per favore fornisci", "come posso aiutar",
    "geef het gesprek", "deel het gesprek", "hoe kan ik je helpen", "hoe kan ik u helpen",
    "proszę podać", "proszę przesłać", "w czym mogę pomóc",
    "lütfen konuşmayı", "nasıl yardımcı olabilirim",
    "пожалуйста, предоставьте", "пришлите текст", "предоставьте диалог", "предоставьте переписку", "чем могу помочь", "чем я могу помочь",
    "будь ласка, надайте", "надайте розмову", "чим можу допомогти",
    "请提供对话", "请提供", "请分享", "有什么可以帮", "请把对话",
    "会話を提供", "会話内容を", "テキストを提供", "ご提供ください", "お手伝いできること",
    "대화를 제공", "대화 내용을", "제공해 주세요", "무엇을 도와",
    "يرجى تقديم", "يرجى تزويدي", "كيف يمكنني مساعدتك",
    "אנא ספק", "נא לספק", "איך אוכל לעזור",
    "कृपया बातचीत", "कृपया वार्तालाप", "कैसे मदद कर सकता",
)  # fmt: skip
"""Phrases of a reply that did not see its input, case-folded."""
