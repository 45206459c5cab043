/** Creates an element with attributes and children. */
export function create<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}

export const show = (element: HTMLElement, isShown: boolean) => element.toggleAttribute('hidden', !isShown)
