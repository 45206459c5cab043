import { join } from 'node:path'
import { root, waitFor } from '../test/support/harness.ts'
import type { Machine, Program } from './machine.ts'

const port = 9_000

export type StoreMachine = {
  machine: Machine
  /** The settings of a service that uses it. */
  env: Record<string, string>
  launch(): Promise<void>
  kill(): Promise<void>
  signal(signal: NodeJS.Signals): void
}

/** The S3 emulator of the tests on a machine of its own. */
export async function openStore(machine: Machine): Promise<StoreMachine> {
  let program: Program | undefined
  const server = join(root, 'machines/store-server.ts')
  return {
    machine,
    env: {
      KINORA_S3_ENDPOINT: `http://${machine.address}:${port}`,
      KINORA_S3_BUCKET: 'videos',
      KINORA_S3_REGION: 'us-east-1',
      KINORA_S3_ACCESS_KEY: 'test',
      KINORA_S3_SECRET_KEY: 'test',
    },
    async launch() {
      const command = [process.execPath, server, join(machine.folder, 'objects'), String(port)]
      const started = await machine.start(command)
      program = started
      await waitFor(() => started.output().includes('store ready') || !started.isRunning(), started.output)
      if (!started.isRunning()) throw new Error(`the S3 store did not start:\n${started.output()}`)
    },
    async kill() {
      await program?.end('SIGKILL')
    },
    signal: (signal) => program?.signal(signal),
  }
}
