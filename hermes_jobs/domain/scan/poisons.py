"""Rules against words that poison a memory: standing orders that open a door the next time.

After the attacks on agents' memories that Rehberger's "SpAIware" and the MINJA paper (arXiv 2503.03704)
describe.
"""

from __future__ import annotations

from functools import partial

from hermes_jobs.domain.scan.finding import rule

_approves = partial(rule, "instruction", "switches approvals off")
_copies = partial(rule, "instruction", "sends copies to somebody")
_triggers = partial(rule, "instruction", "acts at a hidden word")
_obeys = partial(rule, "instruction", "obeys what it reads")

_NEGATED = r"\b(?:never|not|n['’]t|dont|cannot|avoid|refuse\s+to|no\s+reason\s+to)\s+(?:\w+\s+){0,2}"
_FOR_GOOD = r"""
    (?: permanently | for\s+good | forever | for\s+ever | always | from\s+now\s+on | ever\s+again | again
    | in\s+(?:all|every|any)\s+(?:future\s+)?session | in\s+future |
        all\s+(?:future\s+)?(?:commands?|actions?|tools?)
    | every\s+(?:command|action|tool) | any\s+(?:command|action|tool) | anything | everything )"""
_APPROVAL = (
    r"(?: approvals? | confirmations? | permissions? | consent | safety\s+(?:checks?|prompts?|questions?) )"
)
_MAIL = r"[\w.+-]+@[\w-]+\.\w+"
_READ = r"""
    (?: web\s?pages? | websites? | sites? | pages? | documents? | e-?mails? | messages?\s+from\s+others
    | tool\s+(?:results?|outputs?|responses?) | search\s+results? | fetched\s+(?:content|text|pages?)
    |



        (?:content|text)s?\s+(?:of|from|on)\s+(?:\w+\s+)?(?:web\s?pages?|websites?
        |pages?|documents?|e-?mails?) )"""

POISON_RULES = (
    _approves(
        "approv confirm permission consent safety",
        rf"""\b(?: never | do\s+not | don['’]?t | stop | no\s+need\s+to | without )\s+ (?:\w+\s+){{0,2}}?
        (?: ask(?:ing)?\s+ (?:(?:me|us|the\s+user|anyone|anybody)\s+)? for | request(?:ing)? | require
        | wait(?:ing)?\s+for ) \s+ (?:\w+\s+)? {_APPROVAL} \b [^.\n]{{0,60}}? \b{_FOR_GOOD}\b""",
    ),
    _approves(
        "approv confirm permission safety",
        rf"""(?: \b(?: switch | turn )\s+ (?:\w+\s+){{0,3}}? {_APPROVAL}\s+ off\b [^.\n]{{0,40}}?
        \b{_FOR_GOOD}\b
        | \b(?: disable | switch\s+off | turn\s+off | skip | bypass | suppress | deactivate )\s+
        (?:\w+\s+){{0,3}}? {_APPROVAL} (?:\s+(?:prompts?|requests?|questions?|checks?))? \b [^.\n]{{0,40}}?
        \b{_FOR_GOOD}\b
        | \b{_FOR_GOOD},?\s+ (?:\w+\s+){{0,3}}? (?: disable | switch\s+off | turn\s+off | skip | bypass |
        suppress )\s+
        (?:\w+\s+){{0,3}}? {_APPROVAL}\b )""",
        unless_after=_NEGATED,
    ),
    _approves(
        "approved authorized authorised permitted confirmed",
        r"""\b(?: all | every | any | each )\s+ (?:\w+\s+){0,2}? (?: commands? | actions? | tool\s+calls? |
        requests? | tools? | operations? )\s+ (?: is | are | has\s+been | have\s+been | were | was |
        counts?\s+as )\s+
        (?:\w+\s+){0,2}? (?:pre-?|auto-?)?(?: approved | authori[sz]ed | permitted | confirmed )\b""",
        unless=r"\b(?:not|must|should|until|once|when|by\s+the\s+(?:admin|team|reviewer))\b",
    ),
    _approves(
        "approved authorized authorised",
        r"""\b(?:the\s+)?(?: user | owner | operator )\s+ (?:ha(?:s|ve)\s+)? (?:already\s+)? (?:pre-?)?
        (?: approved | authori[sz]ed )\s+ (?: every | all | any | each )\b""",
    ),
    _approves(
        "auto-approve autoapprove approve terminal.policy",
        r"""\b(?: auto-?approve | automatically\s+approve | always\s+approve | approve\s+automatically )\s+
        (?: all | every | any | everything | commands? | tool )\b
        | \bterminal\.policy\b [^.\n]{0,20}? \ballow\b""",
        unless_after=_NEGATED,
    ),
    _copies(
        "bcc blind",
        rf"""\b(?: bcc | blind[\s-](?:carbon[\s-])?cop(?:y|ies) )\b [^\n]{{0,80}}? {_MAIL}
        | {_MAIL} [^.\n]{{0,40}}? \b(?:in|to|on|as)\s+(?:the\s+|an?\s+)?bcc\b""",
        unless_after=_NEGATED,
    ),
    _copies(
        "mail message repl invoice document attachment file",
        rf"""\b(?: forward | copy | send\s+(?:a\s+)?(?:copy|copies)\s+of | duplicate | mirror )\s+
        (?:\w+\s+){{0,2}}?
        (?: every | all | each | any )\s+ (?:\w+\s+){{0,3}}?
        (?: e-?mails? | messages? | repl(?:y|ies) | invoices? | documents? | attachments? | files? )\b
        [^.\n]{{0,60}}? \bto\s+ (?:{_MAIL} | https?://)""",
        unless_after=_NEGATED,
    ),
    _triggers(
        "upload send post mail exfiltrate transmit curl zip archive",
        rf"""\b(?: when(?:ever)? | if | as\s+soon\s+as | once | every\s+time | each\s+time | at | on )\b
        [^.\n]{{0,80}}?
        \b(?: says? | said | mentions? | writes? | types? | hears? | uses? |
        the\s+(?:word|phrase|keyword) | word )\b
        [^.\n]{{0,60}}? \b(?: upload | send | post | e-?mail | exfiltrate | transmit | curl | zip |
        archive )\b
        [^\n]{{0,100}}? \b(?: folder | director(?:y|ies) | files? | repo\w* | workspace | home | documents? |
        history | conversation | project )\b [^\n]{{0,80}}? (?: https?:// | {_MAIL} | ftp:// )""",
        unless_after=_NEGATED,
    ),
    _obeys(
        "authority weight trust user owner operator binding follow obey",
        rf"""\b(?: instructions? | commands? | requests? | orders | directives? | anything | text |
        whatever )\s+
        (?:\w+\s+){{0,3}}? (?: in | on | from | inside | within | of )\s+ (?:\w+\s+){{0,3}}? {_READ}\b
        [^.\n]{{0,50}}?
        \b(?: (?:same|full|equal)\s+(?:authority|weight|trust|rights) | authority\s+of |
        as\s+(?:if\s+)?(?:they\s+)?
        (?:were\s+|came\s+|coming\s+)?(?:from\s+)?(?:the|your)\s+(?:user|owner|operator)
        | (?:are|is)\s+(?:to\s+be\s+)?(?:followed|obeyed|trusted|binding|authori[sz]ed)
        | (?:should|must|shall)\s+(?:always\s+)?be\s+(?:followed|obeyed|trusted|executed)
        | comes?\s+from\s+(?:the|your)\s+(?:user|owner|operator) )""",
        unless=r"\b(?:not|never|n['’]t|no|only\s+data)\b",
        unless_after=_NEGATED,
    ),
    _obeys(
        "user owner operator authority trusted",
        rf"""\b(?: treat | consider | regard | handle | follow | obey | trust | accept )\s+
        [^.\n]{{0,60}}? {_READ}\b
        [^.\n]{{0,50}}? \bas\s+ (?:if\s+)? [^.\n]{{0,40}}?
        \b(?: (?:the|your)\s+(?:user|owner|operator) | trusted\s+(?:instructions?|orders?|input)
        | user\s+(?:instructions?|requests?|orders?) | system\s+(?:instructions?|prompt) )\b""",
        unless_after=_NEGATED,
    ),
    _obeys(
        "user owner operator authority",
        rf"""\b{_READ}\s+ (?:\w+\s+){{0,3}}? (?: speaks? | acts? | ha(?:s|ve) | carr(?:y|ies) | holds? )\s+
        (?:for\s+|with\s+)? (?:the\s+)? (?: (?:user|owner|operator)(?:['’]s)?\s+(?:full\s+)?authority
        | (?:same|full)\s+(?:authority|trust)\s+as\s+(?:the|your)\s+(?:user|owner|operator) )\b""",
    ),
    _obeys(
        "anything whatever everything",
        rf"""\b(?: anything | whatever | everything )\s+ (?: (?!not\b)[\w-]+\s+ ){{0,2}}? {_READ}\s+
        (?: asks? | says? | tells? | requests? | demands? )\b [^.\n]{{0,50}}?
        \b(?: (?:the|your)\s+(?:user|owner|operator) | obey(?:ed)? | follow(?:ed)? | execut(?:e|ed) |
        do\s+it )\b""",
        unless=r"\b(?:not|never|n['’]t|data)\b",
    ),
    _obeys(
        "http",
        r"""\b(?: fetch | download | read | load | open | visit | get | retrieve | check | curl |
        browse\s+to )\b
        [^\n]{0,40}? https?://\S+ [^\n]{0,60}?
        \b(?: obey\b | (?: follow | carry\s+out | execute | apply )\s+ (?: whatever | any | all | every |
        its | the )\s+
        (?:\w+\s+){0,2}? (?: instructions? | commands? | orders? | directives? )
        (?: \s+ (?: it | there | found | inside | within | contained | you | on\s+(?:it|that|the\s+page)
        | in\s+it ) \b
        | \s*[.!]?\s*$ )
        | do\s+ (?: what(?:ever)? | exactly\s+what | as )\s+ (?: it | they | the\s+(?:page|file) |
        that\s+page )\s+
        (?: says? | tells? ) )""",
        unless_after=_NEGATED,
    ),
)
