/** Completes "The name ". */
export const keyNameRule = 'must have 1 to 100 characters and must not start or end with a space'

export const isKeyName = (name: string) => /^\S(.{0,98}\S)?$/.test(name)
