import { useSyncExternalStore } from 'react'

const media = () => matchMedia('(prefers-color-scheme: dark)')

function subscribe(listener: () => void): () => void {
  const query = media()
  const observer = new MutationObserver(listener)
  query.addEventListener('change', listener)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  return () => {
    query.removeEventListener('change', listener)
    observer.disconnect()
  }
}

/** Changes when the colors of the page change. What is drawn on a canvas has to be drawn again then. */
export const useColorScheme = () =>
  useSyncExternalStore(subscribe, () => `${document.documentElement.dataset.theme ?? ''} ${media().matches}`)

/** The color that a custom property has at an element. */
export function readColor(element: HTMLElement, property: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${property})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
