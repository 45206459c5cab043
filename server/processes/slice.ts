import type { Slice } from '../slice.ts'
import { Presence } from './presence.ts'

export const processes: Slice = {
  open: (context) => ({ start: () => new Presence(context) }),
}
