import { useEffect } from 'react'
import { createStore } from '../ui/store.ts'

/** Something that the palette and a key can start, for example "Upload". Views register their own. */
export type Command = { id: string; label: string; key?: string; run(): void }

export const commands = createStore<readonly Command[]>([])

/** Starts a command, if it is registered. */
export const runCommand = (id: string) =>
  commands
    .read()
    .find((each) => each.id === id)
    ?.run()

/** Registers a command while the component is shown. A later one with the same id takes its place. */
export function useCommand({ id, label, key, run }: Command): void {
  useEffect(() => {
    const command: Command = {
      id,
      label,
      ...(key && { key }),
      run,
    }
    commands.set([...commands.read().filter((each) => each.id !== id), command])
    return () => commands.set(commands.read().filter((each) => each !== command))
  }, [id, label, key, run])
}
