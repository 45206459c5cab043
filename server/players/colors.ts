/** The named colors of CSS Color 4, and `transparent`. */
const names = new Set(
  `aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet brown burlywood
  cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan darkgoldenrod darkgray
  darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon darkseagreen
  darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray dimgrey dodgerblue
  firebrick floralwhite forestgreen fuchsia gainsboro ghostwhite gold goldenrod gray green greenyellow grey honeydew
  hotpink indianred indigo ivory khaki lavender lavenderblush lawngreen lemonchiffon lightblue lightcoral lightcyan
  lightgoldenrodyellow lightgray lightgreen lightgrey lightpink lightsalmon lightseagreen lightskyblue lightslategray
  lightslategrey lightsteelblue lightyellow lime limegreen linen magenta maroon mediumaquamarine mediumblue
  mediumorchid mediumpurple mediumseagreen mediumslateblue mediumspringgreen mediumturquoise mediumvioletred
  midnightblue mintcream mistyrose moccasin navajowhite navy oldlace olive olivedrab orange orangered orchid
  palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff peru pink plum powderblue purple
  rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown seagreen seashell sienna silver skyblue slateblue
  slategray slategrey snow springgreen steelblue tan teal thistle tomato transparent turquoise violet wheat white
  whitesmoke yellow yellowgreen`.split(/\s+/),
)

const number = String.raw`[+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})`
const part = `${number}(?:%|deg|grad|rad|turn)?`
const alpha = `${number}%?`

const hexadecimal = /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i
/** Both spellings: `rgba(88, 131, 255, .95)` and `rgb(88 131 255 / 95%)`. */
const inFunction = new RegExp(
  `^(?:rgb|hsl)a?\\(\\s*${part}(?:(?:\\s*,\\s*${part}){2}(?:\\s*,\\s*${alpha})?|(?:\\s+${part}){2}(?:\\s*/\\s*${alpha})?)\\s*\\)$`,
  'i',
)

export const maxColorLength = 100

/** Strict, because the color becomes part of the style of a page. */
export function isColor(text: string): boolean {
  const color = text.trim()
  return hexadecimal.test(color) || inFunction.test(color) || names.has(color.toLowerCase())
}
