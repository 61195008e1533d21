"""Rules against words that steer the agent: overriding, changing its role, secrecy, hiding, leaking.

After the kinds of prompt injection that OWASP's LLM01 and the prompts of JailbreakBench show.
"""

from __future__ import annotations

from functools import partial

from hermes_jobs.domain.scan.finding import rule

_overrides = partial(rule, "instruction", "overrides instructions")
_role = partial(rule, "instruction", "changes the agent's role")
_hides = partial(rule, "instruction", "hides from the user")
_hidden = partial(rule, "instruction", "hidden text")
_asks = partial(rule, "instruction", "asks for the prompt")

_SET_ASIDE = r"""
    (?<!do\snot\s)(?<!must\snot\s)(?<!should\snot\s)(?<!never\s)(?<!n['’]t\s)
    \b(?: ignor(?:e|ing) | disregard(?:ing)? | forget(?:ting)? | overrid(?:e|ing) | bypass(?:ing)? | discard
    | neglect | overlook(?:ing)? | abandon | set\s+aside | pay\s+no\s+(?:attention|heed)\s+to
    | (?: do\s+not | don['’]?t | must\s+not | mustn['’]?t | should\s+not | shouldn['’]?t | never | stop )\s+
      (?: follow(?:ing)? | obey(?:ing)? | heed(?:ing)? | listen(?:ing)?\s+to ) )\s+"""
_ORDERS = r"""
    (?: instructions? | directives? | prompts? | rules | guidelines | commands | orders | constraints
    | restrictions | guardrails | programming | training | safeguards | polic(?:y|ies) )\b"""
_ORDER_WORDS = """instruction directive prompt rules guideline command orders constraint restriction guardrail
    programming training safeguard policy policies"""
_EARLIER = r"(?: previous(?:ly)? | prior | above | earlier | preceding | foregoing | former | past | your )"
_KIND = r"""
    (?: (?: and | or | of | the | all | any | system | safety | security | ethical | developer | user |
    initial
    | original | given | stated | core | operating | standing | existing | conversation | chat | your | these
    | other | default | set | content | moderation ) \s+ )"""
_LIMITS = r"""
    (?: restrictions? | limits? | limitations? | rules | filters? | guidelines | guardrails | constraints
    | censorship | ethics | safeguards | (?:content\s+)?polic(?:y|ies) )\b"""
_VOID = r"""
    (?: null | void | cancell?ed | revoked | rescinded | nullified | invalid | suspended | lifted
    | overrid(?:den|e) )\b"""
_UNBOUND = rf"""
    (?: (?: unrestricted | unfiltered | uncensored | jailbroken | developer\s+mode | god\s+mode | dan ) \b
    | (?: without | with\s+no | ha(?:ve|s|d)\s+no | free\s+(?:of|from) | do\s+not\s+have | don['’]?t\s+have
      | not\s+bound\s+by | no\s+longer\s+(?:bound|restricted|limited|constrained)\s+by )
      (?: \s+ (?:any|all|by|the|your|moral|ethical|safety|content) ){{0,3}} \s+ {_LIMITS} )"""

_NOT = r"""
    \b(?: do\s+not | don['’]?t | must\s+not | mustn['’]?t | should\s+not | shouldn['’]?t | never | avoid
    | cannot )\s+ (?:ever\s+)?"""
_PERSON = r"(?: (?:the\s+|your\s+|any\s+)? (?:user|human|operator) \b (?!['’]s\s+\w) )"
_ANYBODY = rf"(?: {_PERSON} | anyone | anybody )"
_PEOPLE = "user human operator anyone anybody"
_THIS = r"(?: this | that | these | it | them | what | which | any(?:thing|\s+of) | about )\b"

_OF_THE_AGENT = r"(?: system | hidden | initial | secret | original | internal | developer )"
_NEGATED = r"\b(?:never|not|n['’]t|dont|cannot)\s+(?:\w+\s+)?"

INSTRUCTION_RULES = (
    _overrides(
        _ORDER_WORDS,
        rf"{_SET_ASIDE} (?:[\w'’]+\s+){{0,3}}? {_EARLIER}\s+ {_KIND}{{0,4}} {_ORDERS}",
        unless=r"\byour\s+(?:\w+\s+)?(?:prompts?|commands|orders|training|programming)\s+(?:at|on|in)\b",
    ),
    _overrides(
        "instruction directive guardrail safeguard guideline programming rules",
        rf"""{_SET_ASIDE} (?:(?:all|any)\s+(?:of\s+)?)? your\s+ (?:[\w'’-]+,?\s+){{1,2}}?
        (?: instructions | directives | guardrails | safeguards | guidelines | programming )\b
        | {_SET_ASIDE} (?:[\w'’-]+\s+){{1,4}}? (?: instructions | directives | guidelines | rules )\s+
        (?: of\s+yours | you\s+(?:were|have\s+been)\s+given )\b""",
        unless=r"""\b(?: build | install\w* | lint\w* | eslint | compiler | style | import | editor | ide
        | assembly | setup | brand\w* | contribut\w+ )\s+\w+ $""",
    ),
    _overrides(
        "instruction directive guardrail safeguard guideline",
        rf"""{_SET_ASIDE} (?:all|any|every)\s+ (?:of\s+)? (?:(?:the|your|my|these|those)\s+)? {_KIND}{{0,3}}
        (?: instructions? | directives | guardrails | safeguards | guidelines )\b""",
    ),
    _overrides(
        _ORDER_WORDS + " message",
        rf"""{_SET_ASIDE} (?:(?:the|all|any)\s+)? (?:system|safety|ethical|developer|moderation)\s+
        (?:system\s+)? (?: {_ORDERS} | message\b )""",
        unless_after=r"\b(?:to|flags?|options?|which|that|can|may|will)\s+",
    ),
    _overrides(
        "instruction directive guideline",
        rf"""{_SET_ASIDE} (?: instructions? | directives | guidelines )\s+ (?:(?:given|stated|from)\s+)?
        (?: above | before | earlier | previously | so\s+far )\b""",
    ),
    _overrides(
        "told taught instructed given said written stated",
        rf"""{_SET_ASIDE} (?: everything | anything | all | what(?:ever)? )\s+ (?:that\s+)?
        (?: you\s+ (?:were|have\s+been|['’]ve\s+been)\s+ (?:told|taught|instructed|given)
        | (?:(?:was|is)\s+)? (?:said|written|stated)\s+ (?:above|before|earlier) )""",
    ),
    _overrides(
        "prompt instructions rules",
        rf"""{_SET_ASIDE} what(?:ever)?\s+ (?:the|your)\s+ (?:system\s+)?
        (?: prompt | instructions | rules )\s+ (?: says? | tells? | demands? )\b""",
    ),
    _overrides(
        "instructions directives prompt",
        rf"""(?: \byour\s+ (?:{_EARLIER}\s+)? {_KIND}{{0,3}} (?: instructions | directives | system\s+prompt )
        | \ball\s+ {_EARLIER}\s+ {_KIND}{{0,3}} (?: instructions | directives | prompts )
        | (?<![\w'’]\s) (?: previous | prior | earlier )\s+ (?: instructions | directives ) )\s+
        (?: (?:are|is|have\s+been|has\s+been)\s+ (?:(?:now|hereby)\s+)? {_VOID}
        | no\s+longer\s+appl(?:y|ies)\b )""",
    ),
    _overrides(
        "instructions directives prompt",
        rf"""\b(?: treat | consider | regard )\s+ (?:all\s+(?:of\s+)?)? (?:the\s+|your\s+)?
        {_EARLIER}\s+ {_KIND}{{0,3}} (?: instructions | directives | prompts? )\s+
        (?:as\s+|to\s+be\s+)? {_VOID}""",
    ),
    _overrides(
        "told taught instructed",
        rf"""\b(?: everything | all | anything )\s+ (?:that\s+)?
        you\s+ (?:were|have\s+been|['’]ve\s+been)\s+ (?:told|taught|instructed)\s+ (?:\w+\s+){{0,2}}
        (?:is|was)\s+ (?:now\s+)? (?: {_VOID} | (?:wrong|false) (?=\s*(?:[.,;!]|$)) )""",
    ),
    _overrides(
        "above before",
        rf"""{_SET_ASIDE} (?:everything|all|anything)\s+ (?:of\s+the\s+)? (?:above|before\s+this)
        (?= \s*(?:[.,;:!]|$) | \s+(?:and|instead)\b )""",
    ),
    _overrides(
        "above",
        r"""(?<![\w,;]\s) (?:(?:please|now)\s+)? (?: ignore | disregard | forget )\s+
        (?:all\s+(?:of\s+)?)? the\s+above (?= \s*(?:[.,;:!]|$) | \s+(?:and|instead)\b )""",
    ),
    _overrides(
        "overrid overrul disabled",
        r"""\b(?:system|safety)\s+ (?:prompt|instructions?|rules|guidelines)\s+
        (?: overrid(?:e|den) | overruled? | disabled )\b""",
    ),
    rule(
        "instruction",
        "new instructions",
        "instruction directive prompt orders",
        r"""\b(?: new | updated | real | actual | true | secret | hidden )\s+ (?:(?:system|secret)\s+)?
        (?: instructions? | directives? | prompt | orders )\s*:\s*
        (?: you | ignore | from\s+now | do\s+not | don['’]?t | always | never | act | reveal | send | respond
        | answer | obey | forget )\b""",
    ),
    _role(
        """unrestricted unfiltered uncensored jailbroken developer mode god dan restriction limit rules filter
        guideline guardrail constraint censorship ethics safeguard policy policies""",
        rf"""\b(?: you\s+are | you['’]re | act(?:ing)?\s+(?:as|like) | pretend(?:ing)? | behave\s+(?:as|like)
        | respond\s+as | role-?play\s+as | speak\s+as | simulate | enter | switch\s+to | become )\b
        [^.\n]{{0,50}}? \b{_UNBOUND}""",
    ),
    _role(
        "censorship filter guideline guardrail safeguard restriction ethics policy policies constraint",
        r"""\b(?: respond | answer | reply | act | operate | behave | speak | write | continue | proceed
        | function | comply )\s+ (?:[\w'’]+\s+){0,3}? (?: without | with\s+no | free\s+(?:of|from) )\s+
        (?: (?: any | all | your | the | these )\s+ )?
        (?: (?: safety | ethical | moral | content | security )\s+ (?:\w+\s+)?
          (?: filters? | guidelines | guardrails | restrictions | rules | limits | constraints | checks
          | polic(?:y|ies) )
        | censorship | guardrails | safeguards | ethics | content\s+polic(?:y|ies) )\b""",
        unless_after=_NEGATED,
    ),
    _role(
        "now",
        r"""\byou\s+are\s+now\s+ (?: (?: going\s+to\s+be | acting\s+as | called | named | in )\s+ )?
        (?: (?:an?|the|my)\s+ )? (?:[\w-]+\s+){0,3}?
        (?: dan | stan | assistant | ai | bot | chatbot | persona | character | hacker | pirate | villain |
        root
        | superuser | admin | administrator | jailbr\w+ | model | entity | evil\w* | different\s+\w+
        | someone\s+else | terminal | (?:debug|maintenance|developer)\s+mode )\b""",
        unless=r"\b(?:talking|speaking|working|logged|connected|on|able|ready|using|running|with|inside|at)\b",
        unless_after=r"\b(?:sudo|su|login|ssh|-i|docker\s+exec)\b[^.\n]{0,30}",
    ),
    _role(
        "longer",
        r"""\byou(?:\s+are|['’]re)\s+no\s+longer\s+ (?:(?:an?|the)\s+)? (?:[\w-]+\s+)?
        (?: hermes | assistant | ai | chatbot | bot | language\s+model | bound | restricted | limited
        | constrained | required | obliged | under )\b""",
    ),
    _role(
        "now",
        r"""\bfrom\s+now\s+on,?\s+ you\s+ (?:(?:must|will|shall|should)\s+)? (?:only\s+)?
        (?: obey | serve | take\s+orders | answer\s+to | report\s+to )\s+
        (?:only\s+)? (?: me | us | this | the\s+following )\b""",
    ),
    _hides(
        _PEOPLE,
        rf"""{_NOT} (?: tell(?:ing)? | inform(?:ing)? )\s+ {_PERSON}
        (?! \s+ (?: to | twice | again | which | how | when | where | whether | off ) \b
          | \s*,?\s* ["'«“‘`]
          | [^.\n]{{0,100}}? \b (?: unless | until | before\s+you | without\s+(?:run|check|test|verif)\w+
        ) \b )""",
        unless_after=r"\b(?:form|page|dialog|screen|site|app|api|error|message|client|login|server|ui)\s+",
    ),
    _hides(
        _PEOPLE,
        rf"""{_NOT} (?: mention | reveal | show | disclos | report | admit | say | notify | alert | warn )
        (?:e|t?ing)?\s+
        (?: {_THIS} (?:\s+[\w'’]+){{0,4}}? \s+ to\s+ {_ANYBODY} |
        {_PERSON}\s+(?:about|of)\s+(?:this|that|it)\b )""",
    ),
    _hides(
        _PEOPLE,
        rf"""{_NOT} let\s+ {_ANYBODY}\s+ (?: know | notice | find\s+out | learn | see )\b
        (?! \s+ (?: how | when | where | which | whether ) \b )""",
    ),
    _hides(
        "without",
        rf"\bwithout\s+ (?:ever\s+)? (?: telling | informing | notifying | alerting | asking )\s+ {_PERSON}",
    ),
    _hides(
        "without",
        r"""\bwithout\s+ (?:the|your)\s+ (?:user|human|operator)(?:['’]s)?\s+
        (?: knowing | knowledge | noticing | consent | awareness | approval | permission )\b
        (?! \s*,?\s+ (?:no|nothing|nobody|never)\b )""",
        unless_after=r"\b(?:never|not|n['’]t|nothing)\b[^.\n]{0,36}",
    ),
    _hides(
        _PEOPLE,
        rf"""\b(?: keep\s+ (?:this|that|it|these|the\s+following)\s+ (?:\w+\s+)?
        (?:secret|hidden|private|quiet)
        | hide\s+ (?:this|that|it|these|the\s+following) (?:\s+\w+){{0,3}}?
        | conceal\s+ (?:this|that|it|these) ) \s+ from\s+ {_PERSON}
        | \bkeep\s+ (?:this|that|it|these)\s+ from\s+ {_PERSON} (?= \s*(?:[.,;!]|$) | \s+at\s+all\b )""",
    ),
    _hides(
        _PEOPLE,
        r"""\b(?:the|your)\s+ (?:user|human|operator)\s+
        (?: (?: must | should | may | can | shall )(?: \s+not | n['’]t ) | cannot |
        (?:must|should|may|shall)\s+never )\s+
        (?: know | find\s+out | learn | notice | be\s+told | be\s+informed | become\s+aware )
        (?= \s* (?:[.!;]|$) | \s+(?:about|of|this|that|it)\b )""",
    ),
    _hidden(
        "<!--",
        r"""<!-- (?= (?: (?!-->)[\s\S] ){0,300}?
        \b(?: ignore | disregard | override | obey | secret(?:ly)? | hidden | assistant | system | agent
        | you\s+must | as\s+an\s+ai )\b ) (?: (?!-->)[\s\S] ){0,300}?
        \b(?: instructions? | prompts? | orders? | commands? | user | rules | tell | reveal | send | execute
        | configuration | settings | polic(?:y|ies) | behaviou?r | safety | run
        | curl | password | token )\b""",
    ),
    _hidden(
        "style",
        r"""<\w+[^>]{0,200}? style\s*=[^>]{0,200}?
        (?: display\s*:\s*none | visibility\s*:\s*hidden
        | (?:font-size|opacity)\s*:\s*0(?:\.0+)?(?![.\d]) )""",
    ),
    _hidden(
        "[//]:",
        r"""(?m:^)\[//\]:\s*\#\s*[("'] [^\n]{0,200}?
        \b(?: ignore | disregard | override | obey | secret(?:ly)? | assistant | you\s+must | instructions?
        )\b""",
    ),
    rule(
        "instruction",
        "obeys what it decodes",
        "decod decrypt base64 base32 rot13 hex",
        r"""\b(?: decod(?:e|ed|ing) | decrypt | unscramble | base64 | base32 | rot-?13 | hex )\b [^\n]{0,80}?
        (?: \b(?:and|then)\s+ (?:then\s+)? | [.,;]\s* )
        (?: (?: follow | obey | act\s+on | carry\s+out | comply\s+with )\s+
          (?: it | that | them ) (?=\s*(?:[.:;!,]|$))
        | obey\b | do\s+what(?:ever)?\s+ (?:it|that|they)\s+says?\b
        | (?: follow | execute | run | perform | act\s+on | carry\s+out )\s+ (?:the|its|any|all)\s+
          (?:(?:hidden|decoded|secret)\s+)? (?: instructions? | orders? | commands? )
          (?= \s*(?:[.:;!,]|$) | \s+(?:inside|within|in\s+it|therein|it\s)\b ) )""",
    ),
    rule(
        "instruction",
        "forged markup",
        "memory-context persisted-output tool_call <system </system [tool inst] sys>> <|",
        r"""(?<!`)(?: </?(?:memory-context|persisted-output|tool_call|system)> | \[tool\s+result: | \[/?INST\]
        | <</?SYS>> | <\|(?:im_(?:start|end)|system|user|assistant|endoftext|eot_id)\|> )""",
    ),
    _asks(
        "prompt instruction message rules guideline",
        rf"""\b(?: reveal | leak | disclose | expose | exfiltrate | divulge )\s+ (?:[\w'’]+\s+){{0,3}}?
        (?: (?:your|the|its)\s+ (?:[\w-]+\s+){{0,2}}? {_OF_THE_AGENT}\s+
        (?: prompts? | instructions? | message | rules | guidelines ) | your\s+ (?:prompt|instructions)
        )\b""",
        unless_after=_NEGATED + r"|\b(?:would|could|may|might|can)\s+(?:\w+\s+)?",
    ),
    _asks(
        "your",
        rf"""\b(?: print | show | output | repeat | display | tell\s+(?:me|us) | give\s+(?:me|us) | dump |
        recite
        | write\s+(?:out|down) | echo | send\s+(?:me|us) | return | quote | copy | translate | summari[sz]e
        )\s+
        (?: (?: me | us | out | back | all | of | the | entire | full | exact | complete | whole | verbatim
        | text | everything | what(?:['’]?s)? | is | in | from
        | contents? )\s+ ){{0,5}} your\s+ (?:\w+\s+){{0,2}}?
        (?: {_OF_THE_AGENT}\s+ (?: prompt | message | instructions? | rules ) | prompt | instructions )\b""",
        unless_after=_NEGATED,
    ),
    _asks(
        "prompt message instruction",
        rf"""\b(?: print | show | output | repeat | display | tell\s+(?:me|us) | dump | recite | write\s+out
        | quote )\s+ (?:[\w'’]+\s+){{0,3}}?
        {_OF_THE_AGENT}\s+ (?: prompt | message | instructions )\b [^.\n]{{0,40}}?
        \b(?: verbatim | word[\s-]for[\s-]word | in\s+full | exactly\s+as | to\s+(?:me|us|this|https?) )""",
    ),
    _asks(
        "prompt message instruction",
        r"""(?: (?<![^\n]) | (?<=[.!?:;,"'`]) | (?<=[.!?:;,]\s) | (?<=please\s) | (?<=\bnow\s) | (?<=\bthen\s)
        | (?<=\band\s) | (?<=first\s) )
        (?: output | print | show | reveal | display | repeat | dump | paste | post | write | give | send )\s+
        (?:(?:me|us|out)\s+)? (?:(?:the|your|its)\s+)?
        (?:(?:full|entire|complete|whole|exact|initial|hidden|original|current)\s+){0,2}?
        system\s+ (?: prompt | message | instructions )\b
        (?! \s+ (?: in | on | section | setting | field | file | option | box | panel | length | size )
        \b )""",
        unless_after=_NEGATED,
    ),
    _asks(
        "above before given",
        r"""\b(?: print | output | repeat | recite | dump | echo )\s+ (?:(?:out|back)\s+)?
        (?: everything | all\s+(?:the\s+)?(?:text|words) | the\s+(?:text|words|contents?) )\s+
        (?: above | before\s+this | you\s+were\s+given | that\s+(?:came|comes)\s+before )\b""",
    ),
    _asks(
        "what",
        r"""\bwhat\s+(?:is|are|was|were)\s+your\s+ (?:\w+\s+)?
        (?: system\s+prompt | (?:initial|hidden|original|exact)\s+(?:prompt|instructions) )\b""",
    ),
)
