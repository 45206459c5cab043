/** What the protocol has a status of its own for. The names of the fields are those that @tus/server reads. */
export class TusProblem extends Error {
  readonly status_code: number
  readonly body: string
  constructor(status: number, message: string) {
    super(message)
    this.status_code = status
    this.body = `${message}\n`
  }
}
