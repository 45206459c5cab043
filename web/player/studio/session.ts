/** The secret that replaces the token of the URL, which works once. It survives a reload of the tab. */
export class StudioSession {
  readonly #base: string
  readonly #secret: string

  private constructor(base: string, secret: string) {
    this.#base = base
    this.#secret = secret
  }

  /** Rejects with a `StudioError`. */
  static async open(base: string, token: string | null): Promise<StudioSession> {
    const name = `studio ${base}`
    const known = sessionStorage.getItem(name)
    if (token) {
      const response = await fetch(`${base}/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      })
      if (response.ok) {
        const { session } = (await response.json()) as { session: string }
        sessionStorage.setItem(name, session)
        return new StudioSession(base, session)
      }
      if (!known) throw await readError(response)
    }
    if (!known) throw new StudioError(401, 'This page needs a link with a token.')
    const session = new StudioSession(base, known)
    await session.state()
    return session
  }

  get headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#secret}` }
  }

  async state(): Promise<StudioState> {
    const response = await fetch(`${this.#base}/state`, { headers: this.headers })
    if (!response.ok) throw await readError(response)
    return (await response.json()) as StudioState
  }

  async end(): Promise<void> {
    const response = await fetch(`${this.#base}/end`, { method: 'POST', headers: this.headers })
    if (!response.ok) throw await readError(response)
  }
}

export type StudioState = {
  name: string
  broadcast: { id: string; state: 'live' | 'away' | 'ended'; isVisible: boolean } | null
  refusal: { at: string; reason: string } | null
  recording?: { state: 'waiting' | 'recorded' | 'failed'; path: string | null }
}

export class StudioError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export async function readError(response: Response): Promise<StudioError> {
  const text = await response.text().catch(() => '')
  try {
    return new StudioError(response.status, (JSON.parse(text) as { title: string }).title)
  } catch {
    return new StudioError(response.status, 'The service did not answer as expected.')
  }
}
