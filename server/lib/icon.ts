/** The icon of all pages: a play symbol on a rounded square. */
export const iconSvg =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">' +
  '<rect width="32" height="32" rx="8" fill="#5440d6"/><path d="M12 8.5v15L24 16z" fill="#fff"/></svg>'

/** For pages that must not cause another request. */
export const iconDataUrl = `data:image/svg+xml,${encodeURIComponent(iconSvg)}`
