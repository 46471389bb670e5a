# ruff: noqa: E501 - tables in the letters of the language
"""Words of Hebrew."""

from context.languages import Language

LANGUAGE = Language(
    code="he",
    name="Hebrew",
    script="hebrew",
    stop_words=None,
    telling_letters=None,
    section_titles="מטרה|אילוצים בתוקף|החלטות ונימוקים|עבודה שבוצעה|עבודה פתוחה|תוצרים ומזהים מדויקים|אנשים ומי אמר מה",
    unproven="לא אומת",
    refusals="מצטער|אני מצטער|סליחה|איני יכול|אני לא יכול|לצערי",
    input_requests="אנא ספק|נא לספק|איך אוכל לעזור",
    negations=None,
    which_words=None,
    every_words=None,
    some_words=None,
    actions=None,
    endings=None,
    mail={
        "from": "מאת",
        "sent": "נשלח",
        "subject": "נושא",
        "wrote": "כתב|כתבה|כתב/ה",
        "forwarded": "הודעה שהועברה|הודעה מקורית",
    },
    markers={
        "rule": "חייב|אל ת|אסור|תמיד|לעולם לא|רק |לפחות|לכל היותר",
        "strong": "חייב|אסור|לעולם לא|אל ת|תמיד|בלי (?:אישור|רשות)",
        "wish": "אני רוצה|אני צריך|בבקשה",
        "decision": "החלטנו|נבחר|במקום|כי ",
        "open": "עדיין לא|השלב הבא|נותר|בהמשך",
        "done": "בוצע|הושלם|נוצר|נוסף",
        "ended": "כבר לא (?:נדרש|בתוקף|צריך)|בוטל",
        "unsure": "אם |אולי",
        "failed": "נכשל|שגיאה",
        "duty": r"חייב|(?:\A|\s)אל ת|אסור|לעולם לא",
        "always": "תמיד|רק",
        "weak": "תמיד|רק |לפחות|לכל היותר",
        "address": "בבקשה|אתה|את",
        "story": "אני|אנחנו|היה",
        "worked": r"הצליח\w*",
        "tried": r"ניסי\w*",
        "decides": "נחליט|תוחלט",
    },
    signs=None,
)
