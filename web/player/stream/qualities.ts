/** A quality in the format of the media-chrome menu. */
export type Quality = { id: string; width: number; height: number; bitrate: number; frameRate?: number }

/**
 * The list of qualities that media-chrome expects on a video element. No quality is selected while the player selects it
 * automatically.
 */
export class QualityList extends EventTarget {
  #qualities: Quality[] = []
  #selectedIndex = -1

  get length(): number {
    return this.#qualities.length
  }

  [Symbol.iterator](): Iterator<Quality> {
    return this.#qualities[Symbol.iterator]()
  }

  get selectedIndex(): number {
    return this.#selectedIndex
  }

  get selected(): Quality | undefined {
    return this.#qualities[this.#selectedIndex]
  }

  /** Set by the menu. */
  set selectedIndex(index: number) {
    if (index === this.#selectedIndex) return
    this.#selectedIndex = index
    this.dispatchEvent(new Event('change'))
  }

  /** The selected quality stays selected. */
  replace(qualities: Quality[]): void {
    const idsOf = (list: Quality[]) => list.map(({ id }) => id).join()
    if (idsOf(qualities) === idsOf(this.#qualities)) return
    const selectedIndex = qualities.findIndex(({ id }) => id === this.selected?.id)
    for (const [index] of this.#qualities.entries()) Reflect.deleteProperty(this, index)
    this.#qualities = qualities
    Object.assign(this, qualities)
    this.#selectedIndex = selectedIndex
    this.dispatchEvent(new Event(qualities.length > 0 ? 'addrendition' : 'removerendition'))
    this.dispatchEvent(new Event('change'))
  }
}
