/** The best item for a list of languages, best first: `en-GB` also finds `en`, then `en-US`. */
export function findLanguage<T extends { srclang: string }>(
  items: T[],
  languages: readonly string[],
): T | undefined {
  for (const wanted of languages.map((language) => language.toLowerCase())) {
    const ranks = [wanted, primary(wanted)]
    const found =
      ranks.map((tag) => items.find(({ srclang }) => srclang.toLowerCase() === tag)).find(Boolean) ??
      items.find(({ srclang }) => primary(srclang.toLowerCase()) === primary(wanted))
    if (found) return found
  }
  return undefined
}

const primary = (tag: string) => tag.split('-')[0]

const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u

/** Whether text contains letters that are written from right to left. */
export const hasRightToLeft = (text: string): boolean => rightToLeft.test(text)
