import { messages } from '../messages/messages.ts'

/** What is shown of a title or name, which may be empty. */
export const titleOf = (title: string) => title.trim() || messages.untitled
