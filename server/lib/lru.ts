/**
 * The options of an `LRUCache` with at most this many entries. Its own option `max` allocates all entries in advance, which
 * takes a twentieth of the start of a service.
 */
export const maxEntries = (count: number) => ({ maxSize: count, sizeCalculation: () => 1 })
