/** How to call the `kinora` command where the service runs. The server writes it into the page. */
export const commandName = () =>
  document.querySelector<HTMLMetaElement>('meta[name="kinora-command"]')?.content ?? 'kinora'
