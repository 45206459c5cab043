/** Outlines on a grid of 24 units. */
const paths = {
  home: 'M4 11.5 12 4l8 7.5M6 10v9.5h4.5V14h3v5.5H18V10',
  video: 'M4 6.5h11v11H4zM15 10.5l5-3v9l-5-3',
  live: 'M12 12h.01M8.5 15.5a5 5 0 0 1 0-7M15.5 8.5a5 5 0 0 1 0 7M5.7 18.3a9 9 0 0 1 0-12.6M18.3 5.7a9 9 0 0 1 0 12.6',
  chart: 'M4 20h16M7 16v-5M12 16V6M17 16v-8',
  webhook: 'M9 8.5a3 3 0 1 1 4.5 2.6L16 16M8 12.5A3 3 0 1 0 10 17h6M16 14.5a3 3 0 1 1-1.5 5.2',
  palette:
    'M12 4a8 8 0 1 0 0 16c1.2 0 1.6-.8 1.2-1.7-.5-1.2.2-2.3 1.5-2.3H17a3 3 0 0 0 3-3.2C19.7 7.7 16.2 4 12 4M8 12h.01M9.5 8.5h.01M14.5 8h.01',
  key: 'M14.5 9.5a4 4 0 1 1-8 0 4 4 0 0 1 8 0M13.5 12.5 20 19M17 16l2-2',
  system: 'M4 5h16v6H4zM4 13h16v6H4zM7.5 8h.01M7.5 16h.01',
  book: 'M5 5.5C7.5 4.5 10 5 12 6.5c2-1.5 4.5-2 7-1v13c-2.5-1-5-.5-7 1-2-1.5-4.5-2-7-1zM12 6.5v13',
  search: 'M16.5 16.5 20 20M18 11a7 7 0 1 1-14 0 7 7 0 0 1 14 0',
  upload: 'M12 15V4.5M8 8l4-4 4 4M5 14.5V19h14v-4.5',
  download: 'M12 4.5V15M8 11.5l4 4 4-4M5 14.5V19h14v-4.5',
  copy: 'M9 9h10v10H9zM15 9V5H5v10h4',
  check: 'M5 12.5 10 17l9-10',
  close: 'M6 6l12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  more: 'M6 12h.01M12 12h.01M18 12h.01',
  menu: 'M4 7h16M4 12h16M4 17h16',
  user: 'M12 12a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M5 19.5c.5-3.5 3.5-5 7-5s6.5 1.5 7 5',
  chevron: 'M9 6l6 6-6 6',
  down: 'M6 9.5l6 6 6-6',
  up: 'M6 14.5l6-6 6 6',
  left: 'M15 6l-6 6 6 6',
  trash: 'M5 7h14M10 7V4.5h4V7M7 7l.7 12.5h8.6L17 7M10.5 10.5v5.5M13.5 10.5v5.5',
  edit: 'M5 19l.8-3.8L16 5l3 3L8.8 18.2zM14 7l3 3',
  eye: 'M3 12c2-4 5.2-6 9-6s7 2 9 6c-2 4-5.2 6-9 6s-7-2-9-6M14.5 12a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0',
  lock: 'M6 11h12v8.5H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  globe:
    'M20 12a8 8 0 1 1-16 0 8 8 0 0 1 16 0M4 12h16M12 4c2.5 2.3 3.5 5 3.5 8s-1 5.7-3.5 8c-2.5-2.3-3.5-5-3.5-8s1-5.7 3.5-8',
  warning: 'M12 5 3.5 19.5h17zM12 10.5v4M12 17h.01',
  info: 'M20 12a8 8 0 1 1-16 0 8 8 0 0 1 16 0M12 11.5V16M12 8.5h.01',
  play: 'M8 5.5v13l10.5-6.5z',
  pause: 'M8.5 6v12M15.5 6v12',
  reload: 'M19 12a7 7 0 1 1-2.2-5.1M19 4.5V8h-3.5',
  link: 'M10 14a3.5 3.5 0 0 0 5 0l3.5-3.5a3.5 3.5 0 0 0-5-5L12.5 6.5M14 10a3.5 3.5 0 0 0-5 0L5.5 13.5a3.5 3.5 0 0 0 5 5l1-1',
  grid: 'M5 5h5.5v5.5H5zM13.5 5H19v5.5h-5.5zM5 13.5h5.5V19H5zM13.5 13.5H19V19h-5.5z',
  list: 'M8.5 7H20M8.5 12H20M8.5 17H20M4.5 7h.01M4.5 12h.01M4.5 17h.01',
  filter: 'M4 6.5h16M7 12h10M10 17.5h4',
  sort: 'M8 5v14M5 16l3 3 3-3M16 19V5M13 8l3-3 3 3',
  external: 'M13.5 5H19v5.5M19 5l-8 8M10 6H5.5v12.5H18V14',
  clock: 'M20 12a8 8 0 1 1-16 0 8 8 0 0 1 16 0M12 7.5V12l3 2',
  tag: 'M4.5 4.5h7l8 8-7 7-8-8zM8.5 8.5h.01',
  image: 'M4.5 5h15v14h-15zM4.5 16l4.5-4.5 4 4 2-2 4.5 4.5M15 9h.01',
  watermark: 'M4.5 5h15v14h-15zM13 13h3.5v3H13z',
  captions: 'M4 6h16v12H4zM7 12.5h4M7 15.5h7M13.5 12.5H17',
  stop: 'M6.5 6.5h11v11h-11z',
  file: 'M7 4h7l4 4v12H7zM14 4v4h4',
} as const

export type IconName = keyof typeof paths

/** Decoration. The control around it has a name. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' || name === 'list' ? 2.2 : 1.7}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={paths[name]} />
    </svg>
  )
}
