"""English words with little information about the needed tool: asking words, and words of all tools."""

from functools import cache

from context.text.terms import index_terms

ASKING_WEIGHT = 0.5
"""Weight of an asking word, relative to a word of substance."""
TALK_WEIGHT = 0.4
"""Weight of a word of talk outside of tool names."""

_WORDS = """
able about access accurate accurately actually advance advice affordable afterwards ahead aim along already
alright also although always amazing among another anyone anything anyway appreciate appropriate around ask
asking assist assistance assistant await aware away based become before begin believe below beyond bit bored
bring brilliant broad busy came care case cause certain certainly chance clear clearly close come
comfortable completely comprehensive concerned consider considering contain contains convenient couple
craving curious cute dear decide deep definitely depend desperate difficult done easily easy effective
effectively efficient efficiently eager either else end enjoy enough ensure entire especially essential etc
even ever every everyone everything exact exactly excellent exciting excited expect experience extra
extremely eye fantastic fascinated fast feel feeling finally fine free frustrated furthermore further give
given giving glad go goal going gonna good got grateful great guidance happen happy hard has heard heart
hello help helpful helping hey hi high highly hit honest hope hoping imagine immediately important
impressive incredible indeed inform informed inspire instead intend intention interest interested
interesting involve involved join kindly know knowledge known lack later least leave less let like likely
limited longer look looking love lovely major making manner many matter maybe mean meanwhile meet mentioned
mine miss moment moreover most move must myself near necessary need needed needs never nice nothing notice
numerous obviously often okay old one ones opportunity ordinary otherwise ourselves overall particular
particularly past perfect perhaps piece possible possibly potential prefer preferably present pretty
previously probably proper properly purpose put quickly quite rather reach ready real realize really receive
regarding regards regular remain remember require required respective respectively response ruin see seem
seems seen sense serious several shall significant simple simply since somehow someone something sometimes
somewhere soon sorry specifically specified stay still struggle struggling stuck stuff such suitable suppose
sure taken tend thank thanks thing things think thinking though thought through thus tired together took
toward towards tried truly trying turn understanding unique unless upset urgent urgently useful usual
usually value variety various via wait wanna wanted wants ways welcome whatever whether while whole wide
willing wish within without wonder wonderful wondering works worried worry would wrong yes yesterday yet
"""

_TALK_WORDS = """
add additional additionally all allow allows answer available back basic benefit best better big change
common complete create design designed detail details develop different discuss enhance explore far feature
features few first focus follow following full future handle home idea ideas improve include included
includes including increase individual information insight insights last latest level life live long lot
main make manage mention morning multiple new newest obtain offer open option options order people person
personal plan planning platform point popular previous provide provided quality range recent recently
recommend recommendation recommendations regard relevant request result return right save share show similar
single skill skills special specific start step stop suggest suggestion suggestions support talk tip today
tomorrow tonight tool top topic total type understand upcoming update use used user users using utilize
valuable view way week weekend work
"""
_TOOL_WORDS = """
action add api call content create data date default execute file find function get info information input
item list make message name names number output provide query question request response result retrieve
return run search service set system text time tool tools type update use user using value
"""


@cache
def asking_terms() -> frozenset[str]:
    """Return the terms of asking words."""
    return frozenset(index_terms(_WORDS))


@cache
def talk_terms() -> frozenset[str]:
    """Return the terms of words with little information outside of tool names."""
    return frozenset(index_terms(_TALK_WORDS)) - asking_terms()


@cache
def tool_terms() -> frozenset[str]:
    """Return the terms of words common to many tools."""
    return frozenset(index_terms(_TOOL_WORDS))
