"""Words that a question has because it is one, or that any sentence has: they tell little of what is asked.

How rare a word is says so only in a large history: in a short one "did" and "which" are rarer than the
names of those who talk. A word that is a telling one in another of these languages is left out (German `die`,
`hat`, `war`, French `son`, `ai`, Portuguese `os`).
"""

from __future__ import annotations

from functools import cache

from hermes_jobs.text.search.folding import fold
from hermes_jobs.text.search.stems import stem

_WORDS = """
    a an the this that these those of to in on at by for from with about into as and or but if so than then
    there here what which who whom whose when where why how is are was were be been being am do does did done
    has have had having can could would should will shall might must i me my mine we us our ours you your
    yours he him his she her hers it its they them their theirs not no any some all much many more most very
    just also too ever yet get got tell say said says know s t re ve ll d m

    der das den dem des ein eine einen einem einer eines und oder aber wenn dass ob als wie was wer wen wem
    wessen wann wo wohin woher warum wieso weshalb welche welcher welches welchen welchem ist sind waren sein
    bist wird werden wurde wurden haben hatte hatten habe kann konnte muss soll ich du er sie es wir ihr
    mich mir dich dir sich uns euch ihm ihn ihnen mein meine meinen meiner meinem dein deine unser unsere
    nicht kein keine auch noch nur schon sehr von zu zum zur bei nach aus auf im am um vor ueber über
    unter seit durch gegen ohne wieviel wieviele viel viele

    le la les un une des du de et ou mais si que qui quoi quel quelle quels quelles quand comment pourquoi
    combien est sont etait était ete été etre être suis es as avons avez ont avait je tu il elle nous vous
    ils elles me te se mon ma mes ta tes sa ses notre nos votre vos leur leurs ce cet cette ces ne pas
    dans sur sous avec par chez au aux en y

    el los las una unos unas y o pero porque que qué quien quién quienes quiénes cual cuál cuales cuáles
    cuando cuándo donde dónde adonde adónde como cómo cuanto cuánto cuanta cuánta cuantos cuántos cuantas
    cuántas es son eran fue fueron ser estar esta está estan están estaba ha he han habia había hay yo tu
    tú ella ello nosotros ellos ellas lo nos mi mis tus sus nuestro nuestra este esto esa eso no si sí muy
    mas más con por para del al

    il lo gli che chi cosa quale quali quando come perche perché quanto quanta quanti quante sono
    erano stato sei siamo ho hai abbiamo avete hanno io lui lei noi voi loro mio mia tuo tua suo nostro non
    piu più di da in con per tra fra dei delle degli nel nella

    het een en of maar dat wat wie waar wanneer waarom hoe welke hoeveel zijn waren ben bent heeft heb
    hebben had ik jij je hij zij wij ze mij jou hem haar ons mijn jouw niet geen ook nog naar voor bij
    uit op te

    o um uma uns umas e ou mas que quem qual quais quando onde como porque quanto sao são foi eram estao
    estão tem têm eu tu ele ela nos nós eles elas meu minha seu sua não nao mais com sem por para do da
    das no na nos nas ao
"""
_PAIRS = """
    什么 怎么 哪里 哪儿 哪个 哪些 哪一 哪种 哪家 哪天 哪位 为什 多少 几个 几次 是谁 是什 的是 的什
    了什 了吗 是否 如何 请问 在哪 时候 我们 你们 他们 这个 那个 有没 没有 可以 么样 叫什 么时
    です ます した まし すか たか でし どこ いつ だれ なに なぜ どの どう どん 何で 何を 誰が 誰に
    のは のが では には した こと もの する いる ある れた って から まで より
    어디 언제 누가 누구 무엇 어떤 어느 왜요 얼마 입니 니다 니까 습니 에서 으로 하는
    했어 있어 인가 가요 나요 어요
"""

_OF_NOW = """
    now currently current nowadays presently latest recent recently newest moment
    jetzt aktuell derzeit inzwischen mittlerweile momentan maintenant actuellement actuel actuelle
    ahora actualmente actual adesso attualmente agora atualmente
    现在 目前 如今 最新 今の 現在 지금 현재 최근
"""


@cache
def function_roots() -> frozenset[str]:
    """What stands for them in passages: stems, and pairs of characters of a script without spaces."""
    return frozenset((*(stem(fold(word)) for word in _WORDS.split()), *_PAIRS.split()))


@cache
def roots_of_now() -> frozenset[str]:
    """What stands for words such as `currently`."""
    return frozenset(stem(fold(word)) for word in _OF_NOW.split())
