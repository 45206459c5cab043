/** Makes the header of a menu an item of it, because ARIA allows only items in a menu. */
export function labelHeader(menu: HTMLElement, title: string): void {
  const back = menu.shadowRoot?.querySelector('[part~=back]')
  back?.setAttribute('role', 'menuitem')
  back?.setAttribute('aria-label', `${title}: back to the previous menu`)
}
