/** Outlines on a grid of 24 units, as in the dashboard. */
const paths = {
  home: 'M4 11.5 12 4l8 7.5M6 10v9.5h4.5V14h3v5.5H18V10',
  search: 'M16.5 16.5 20 20M18 11a7 7 0 1 1-14 0 7 7 0 0 1 14 0',
  key: 'M14.5 9.5a4 4 0 1 1-8 0 4 4 0 0 1 8 0M13.5 12.5 20 19M17 16l2-2',
  theme: 'M20 12a8 8 0 1 1-16 0 8 8 0 0 1 16 0M12 4v16M12 8h6.9M12 12h8M12 16h6.9',
} as const

/** Decoration. The control around it has a name. */
export const icon = (name: keyof typeof paths) =>
  `<svg aria-hidden="true" width="18" height="18" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round"><path d="${paths[name]}"/></svg>`
