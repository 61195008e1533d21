"""A large log of made-up conversations in six languages, the same for the same numbers.

Words are as unevenly common as in real texts. Nothing made up holds a `NEEDLES` text: those are said where a
test puts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, count, islice
from random import Random

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import EventMeta, RecordedEvent
from hermes_jobs.kernel.log.log import Append, EventLog, StreamWrite
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.session import stream_of

ENGLISH = """the of and to a in is it you that for on with as are this be have from or by not but
    what all were when we can an your which their time will about out them then make like would could
    two more way been call water long down day did get come may part over new sound take only little
    work know place year back where most very after thing our just name good sentence man think say
    great help through much before line right server error file test build deploy config proxy cache
    queue worker branch merge review memory schedule"""
GERMAN = """der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es
    an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über Größe Straße Übung
    Prüfung Müller schön Fehler Datei Änderung Verzeichnis Schlüssel Rückgabe öffnen schließen gelöscht
    Aufträge Geschäftsführer"""
CHINESE = """我们 可以 这个 数据 系统 问题 使用 服务 模型 文件 时间 用户 需要 一个 进行 如果 没有
    已经 通过 配置 索引 查询 搜索 消息 任务 队列 错误 日志 更新 删除 网络 安全 性能 测试 部署 今天 天气
    很好 的 了 是 在 不"""
JAPANESE = """これ は です ます データ ベース 検索 設定 ファイル エラー ください サーバー 使用 する
    した の を に が と で も ない ある 時間 問題 確認 お願い 会議 明日 今日 変更 削除 追加 更新 東京
    大阪 機械 学習"""
KOREAN = """검색 기능을 데이터 베이스 설정 파일이 오류가 서버에서 사용자는 시간을 문제를 확인 요청
    회의 내일 오늘 변경 삭제 추가 업데이트 서울 부산 학습 모델을 메시지 작업 큐에 로그를 안녕하세요
    감사합니다"""
CODE = """def return self import from class None True if else for while try except raise yield async
    await lambda print( ) == != += -> { } [ ] src/core/engine.py tests/unit/test_api.py config.yaml
    README.md foo_bar some_value i++; x = 3.14; await_result user@example.com https://example.com/docs
    git commit -m"""
SENTENCES = 3_000  # made of each language, from which messages are put together
USERS, ASSISTANTS, RESULTS = (1, 3), (2, 6), (1, 9)  # sentences in a message
A_DAY = 200  # sessions
META = EventMeta(worker="w-0123456789")


class Corpus:
    """Conversations without end. `needles` are texts for the messages of those numbers.

    A message has about 330 characters, and `length` times as many.
    """

    def __init__(self, seed: int = 1, needles: Sequence[tuple[int, str]] = (), length: float = 1.0) -> None:
        self._random = Random(seed)
        self._length = length
        self._pools = [self._sentences(words, gap) for words, gap in LANGUAGES]
        self._needles = dict(needles)
        self._number = 0

    def sessions(self, messages: int, turns: int = 20) -> Iterator[tuple[str, str, list[e.SessionEvent]]]:
        """Stream, moment and facts of one session after the other, until there are so many messages."""
        for number in count():
            if self._number >= messages:
                return
            session, day = f"s{number:06d}", number // A_DAY
            at = f"2026-{1 + day // 28 % 12:02d}-{1 + day % 28:02d}T12:00:00.{number % 1_000_000:06d}Z"
            facts = [
                fact
                for turn in range(turns)
                for fact in self._turn(session, f"t{session}x{turn:02d}", first=turn == 0)
            ]
            yield stream_of(session), at, facts

    def write(self, log: EventLog, messages: int) -> None:
        """Append so many messages to a log."""
        for stream, at, facts in self.sessions(messages):
            write = StreamWrite(stream=stream, events=tuple(facts), expected=0)
            log.append(Append(meta=META, recorded_at=at, writes=(write,), durable=False))

    def recorded(self, messages: int) -> Iterator[RecordedEvent]:
        """So many messages as a log would give them back."""
        positions = count(1)
        for stream, at, facts in self.sessions(messages):
            for version, fact in enumerate(facts, start=1):
                yield RecordedEvent(
                    position=next(positions),
                    stream=stream,
                    version=version,
                    type=type(fact).__name__,
                    event=fact,
                    meta=META,
                    schema=1,
                    recorded_at=at,
                    hash="",
                )

    def _turn(self, session: str, turn: str, *, first: bool) -> Iterator[e.SessionEvent]:
        random, pool = self._random, self._random.choice(self._pools)
        yield e.TurnSubmitted(
            turn=turn,
            text=self._said(pool, USERS),
            source="cli" if random.random() < 0.9 else "telegram",
            session=session,
            opening=e.Opening() if first else None,
        )
        if first:
            yield e.SessionStarted(
                session=session, kind="conversation", source="cli", model="m", system_prompt="You help. " * 40
            )
        yield e.ContextPrefetched(turn=turn, model="m", max_iterations=15)
        step = f"{turn}-1"
        if random.random() < 0.5:
            yield from self._tools(turn, step, pool)
            step = f"{turn}-2"
        yield e.ModelCallStarted(turn=turn, step=step, attempt=1)
        answer = self._said(pool, ASSISTANTS)
        yield e.ModelReplied(
            turn=turn,
            step=step,
            content=answer,
            model="m",
            finish_reason="stop",
            usage=Usage(900, 90),
            cost_usd=0.1,
        )
        yield e.UsageRecorded(
            turn=turn, model="m", input_tokens=900, output_tokens=90, cost_usd=0.1, num_model_calls=1
        )
        yield e.TurnCompleted(turn=turn, answer=answer)

    def _tools(self, turn: str, step: str, pool: Sequence[str]) -> Iterator[e.SessionEvent]:
        asked = (
            ToolCall("call_1", "terminal", '{"command": "grep -rn needle src/core"}'),
            ToolCall("call_2", "read_file", '{"path": "src/core/engine.py", "offset": 10}'),
        )
        calls = tuple(f"{step}-{index}" for index in range(len(asked)))
        plan = tuple(e.PlannedCall(call=call, effect="read") for call in calls)
        yield e.ModelCallStarted(turn=turn, step=step, attempt=1)
        yield e.ModelReplied(
            turn=turn,
            step=step,
            content=self._said(pool, USERS),
            model="m",
            finish_reason="tool_calls",
            tool_calls=asked,
            plan=plan,
            usage=Usage(900, 90),
            cost_usd=0.1,
        )
        for call, each in zip(calls, asked, strict=True):
            yield e.ToolStarted(
                turn=turn,
                step=step,
                call=call,
                name=each.name,
                arguments=each.arguments,
                attempt=1,
                effect="read",
            )
            yield e.ToolFinished(turn=turn, call=call, ok=True, content=self._said(self._pools[-1], RESULTS))

    def _said(self, pool: Sequence[str], sentences: tuple[int, int]) -> str:
        number, self._number = self._number, self._number + 1
        count = round(self._random.randint(*sentences) * self._length)
        text = " ".join(self._random.choices(pool, k=count))
        needle = self._needles.get(number)
        return text if needle is None else f"{text}\n{needle}\n{self._random.choice(pool)}"

    def _sentences(self, words: str, gap: str) -> list[str]:
        known = [*words.split(), *islice(_made_up(self._random), 4_000 if gap == " " else 0)]
        weights = list(accumulate(1 / (rank + 3) for rank in range(len(known))))
        return [
            gap.join(self._random.choices(known, cum_weights=weights, k=self._random.randint(8, 24)))
            + ("." if gap else "。")
            for _ in range(SENTENCES)
        ]


def _made_up(random: Random) -> Iterator[str]:
    while True:
        syllables = (
            random.choice("bdfgklmnprstvz") + random.choice("aeiou") for _ in range(random.randint(2, 5))
        )
        yield "".join(syllables)


LANGUAGES = ((ENGLISH, " "), (GERMAN, " "), (CHINESE, ""), (JAPANESE, ""), (KOREAN, " "), (CODE, " "))
