/**
 * Makes one call of what is asked for in the same turn of the event loop: under load these are many, and each costs a
 * fraction. Nothing is remembered: an answer is always newer than its question. Answers come in the order of the
 * questions.
 */
export function gather<Ask, Answer>(
  most: number,
  answerAll: (asks: Ask[]) => Promise<Answer[]>,
): (ask: Ask) => Promise<Answer> {
  type Waiting = { ask: Ask; resolve(answer: Answer): void; reject(error: unknown): void }
  let waiting: Waiting[] = []

  async function send(): Promise<void> {
    const batch = waiting
    waiting = []
    try {
      const answers = await answerAll(batch.map(({ ask }) => ask))
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i] as Answer)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return (ask) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ ask, resolve, reject }) === 1) setImmediate(() => waiting.length > 0 && send())
      else if (waiting.length === most) void send()
    })
}
