import { useEffect } from 'react'

/** Something that the palette and a key can start, for example "Upload". Views register their own. */
export type Command = { id: string; label: string; key?: string; run(): void }

let commands: readonly Command[] = []
const listeners = new Set<() => void>()

export const readCommands = () => commands

export function subscribeToCommands(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function set(next: readonly Command[]): void {
  commands = next
  for (const listener of listeners) listener()
}

/** Starts a command, if it is registered. */
export const runCommand = (id: string) => commands.find((each) => each.id === id)?.run()

/** Registers a command while the component is shown. A later one with the same id takes its place. */
export function useCommand({ id, label, key, run }: Command): void {
  useEffect(() => {
    const command: Command = {
      id,
      label,
      ...(key && { key }),
      run,
    }
    set([...commands.filter((each) => each.id !== id), command])
    return () => set(commands.filter((each) => each !== command))
  }, [id, label, key, run])
}
