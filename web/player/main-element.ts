/** The landmark of the page that contains the player or a message. */
export const main: HTMLElement = document.querySelector('main') ?? document.body
