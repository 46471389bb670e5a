"""Words of Marathi."""

from context.languages import Language

LANGUAGE = Language(
    code="mr",
    name="Marathi",
    script="devanagari",
    stop_words="आहे आणि या हे तो ती ते मध्ये नाही साठी आहेत होते केले एक पण किंवा मी तुम्ही आम्ही",
    telling_letters=None,
    section_titles=None,
    unproven=None,
    refusals=None,
    input_requests=None,
    negations="नाही",
    which_words=None,
    every_words=None,
    some_words=None,
    actions=None,
    endings=None,
    mail=None,
    markers=None,
    signs=None,
)
