"""The words in which providers say what is wrong; they tell nothing of a prompt that has them too."""

_LINES = (
    "about above access account again allowed already and any api are argument array assistant attempt",
    "audio authentication authorized available back bad badrequesterror balance base been before",
    "billing body bytes call can cannot character characters check code completion completions",
    "connection contain contains content context could credit credits data deployment did does down due",
    "each empty end endpoint error errors exceed exceeded exceeds exception exist expected failed field",
    "for format found from function get given got had has have header high host however http image",
    "input insufficient internal internalservererror into invalid its json key large later least length",
    "less like limit limits litellm load long make many match max maximum may message messages model",
    "models more most must name need new none not null number object one only openai openaiexception",
    "organization other our out output overloaded parameter parameters parse please policy prompt",
    "property provided provider quota rate reached read reason received reduce refused request",
    "requested requests required resource response result retry role schema see server service should",
    "size still stop string support supported system temperature text than that the their them then",
    "there this time timeout token tokens too tool tools top try type unable unknown unsupported",
    "upgrade url use used user uses using valid value values was were when which will with would you",
    "your",
)

OF_PROVIDERS = frozenset(word for line in _LINES for word in line.split())
