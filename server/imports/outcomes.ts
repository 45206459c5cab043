/** The object is not imported. The message is the reason. */
export class ItemSkipped extends Error {}

/** The object cannot be imported. The message is the reason. */
export class ItemFailed extends Error {}
