import { en } from './en.ts'

/** The messages of the chosen language. There is one so far. */
export const messages = en
