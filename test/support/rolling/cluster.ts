import assert from 'node:assert/strict'
import { type Kinora, settingsOf, startKinora } from '../harness.ts'
import { freePort } from './proxies.ts'

type Place = { database: string; data: string }

/** A process of a service that can be restarted with the same ports. */
export class ClusterProcess {
  readonly role: string
  readonly port: number
  readonly rtmpPort: number
  readonly #env: Record<string, string>
  #running: Kinora | undefined
  #earlierOutput = ''

  private constructor(role: string, ports: [number, number], env: Record<string, string>) {
    this.role = role
    ;[this.port, this.rtmpPort] = ports
    this.#env = env
  }

  static async start(role: string, place: Place, env: Record<string, string> = {}): Promise<ClusterProcess> {
    const ports: [number, number] = [await freePort(), await freePort()]
    const [KINORA_PORT, KINORA_RTMP_PORT] = ports.map(String) as [string, string]
    const settings = { ...settingsOf(place), KINORA_ROLES: role, KINORA_PORT, KINORA_RTMP_PORT, ...env }
    const started = new ClusterProcess(role, ports, settings)
    await started.#start()
    return started
  }

  async #start(): Promise<void> {
    this.#running = await startKinora(this.#env)
  }

  /** SIGTERM, and a start when the process has ended. */
  async restart(): Promise<void> {
    const { stop, output } = this.#running!
    assert.equal(await stop(), 0, output())
    this.#earlierOutput += output()
    await this.#start()
  }

  readonly output = (): string => this.#earlierOutput + (this.#running?.output() ?? '')

  async stop(): Promise<void> {
    await this.#running?.stop()
  }
}
