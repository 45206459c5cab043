// Where a viewer of a 360° video looks, in numbers alone. Space is that of WebGL: x to the right, y up, and ahead,
// where the middle of the picture is, is -z. Angles are radians unless their names say degrees.

/** Yaw grows to the right and pitch upwards. The field of view is that along the longer side of the canvas. */
export type View = { yaw: number; pitch: number; fov: number }

export type Vector = readonly [x: number, y: number, z: number]

/** From what the screen sees to the world: three columns, as WebGL takes a matrix. */
export type Rotation = readonly [...Vector, ...Vector, ...Vector]

/** How a device is held, and which way it was turned when that began: there is the front of the video. */
export type Device = { rotation: Rotation; heading: number }

export const degree = Math.PI / 180
const narrowest = 30 * degree
/** More than this stretches the edges of a flat screen until nothing is recognized. */
const widest = 100 * degree

export const front: View = { yaw: 0, pitch: 0, fov: 90 * degree }

const clamp = (value: number, from: number, to: number) => Math.min(to, Math.max(from, value))

/** The same direction, between half a turn to the left and half a turn to the right. */
const wrap = (angle: number) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI))

/** Up and down end at the poles: beyond them the world would stand on its head. */
export const turn = (view: View, yaw: number, pitch: number): View => ({
  ...view,
  yaw: wrap(view.yaw + yaw),
  pitch: clamp(view.pitch + pitch, -Math.PI / 2, Math.PI / 2),
})

/** Makes what is in the middle so many times as large. */
export const zoom = (view: View, factor: number): View => ({
  ...view,
  fov: clamp(2 * Math.atan(Math.tan(view.fov / 2) / factor), narrowest, widest),
})

/** How far to turn for what is in the middle to move by one pixel of a canvas whose longer side has so many. */
export const anglePerPixel = (fov: number, longerSide: number) =>
  (2 * Math.tan(fov / 2)) / Math.max(1, longerSide)

/** How far the picture reaches to the right and up, one step ahead. */
export function reachOf(fov: number, width: number, height: number): [x: number, y: number] {
  const perPixel = Math.tan(fov / 2) / Math.max(1, width, height)
  return [width * perPixel, height * perPixel]
}

/** What is left of a speed some time after letting go, and the way made until then. */
export function glide(speed: number, elapsedMs: number): { speed: number; way: number } {
  const fadesInMs = 250
  const left = Math.exp(-elapsedMs / fadesInMs)
  return { speed: speed * left, way: speed * fadesInMs * (1 - left) }
}

function aboutX(angle: number): Rotation {
  const [c, s] = [Math.cos(angle), Math.sin(angle)]
  return [1, 0, 0, 0, c, s, 0, -s, c]
}

function aboutY(angle: number): Rotation {
  const [c, s] = [Math.cos(angle), Math.sin(angle)]
  return [c, 0, -s, 0, 1, 0, s, 0, c]
}

function aboutZ(angle: number): Rotation {
  const [c, s] = [Math.cos(angle), Math.sin(angle)]
  return [c, s, 0, -s, c, 0, 0, 0, 1]
}

export const rotate = (r: Rotation, [x, y, z]: Vector): Vector => [
  r[0] * x + r[3] * y + r[6] * z,
  r[1] * x + r[4] * y + r[7] * z,
  r[2] * x + r[5] * y + r[8] * z,
]

/** The last one is done first. */
const chain = (...rotations: Rotation[]): Rotation =>
  rotations.reduce((a, b) => [
    ...rotate(a, [b[0], b[1], b[2]]),
    ...rotate(a, [b[3], b[4], b[5]]),
    ...rotate(a, [b[6], b[7], b[8]]),
  ])

/** What was turned by hand goes on top of how the device is held: yaw about the world's axis, so it stays level. */
export const rotationOf = ({ yaw, pitch }: View, device?: Device): Rotation =>
  device
    ? chain(aboutY(device.heading - yaw), device.rotation, aboutX(pitch))
    : chain(aboutY(-yaw), aboutX(pitch))

/**
 * Of the angles of a deviceorientation event. Its world has x to the east, y to the north and z up, its device x to
 * the right and y to the top of a screen held as it was made; the screen's angle tells how what is shown is turned.
 */
export const deviceRotation = (
  alphaDegrees: number,
  betaDegrees: number,
  gammaDegrees: number,
  screenDegrees: number,
): Rotation =>
  chain(
    aboutX(-Math.PI / 2),
    aboutZ(alphaDegrees * degree),
    aboutX(betaDegrees * degree),
    aboutY(gammaDegrees * degree),
    aboutZ(-screenDegrees * degree),
  )

/** The yaw of what is looked at. Close to the poles that says nothing, and the upper edge of the screen tells it. */
export function headingOf(rotation: Rotation): number {
  const [x, y, z] = rotate(rotation, [0, 0, -1])
  if (Math.abs(y) < 0.9) return Math.atan2(x, -z)
  const [upX, , upZ] = rotate(rotation, [0, 1, 0])
  return y < 0 ? Math.atan2(upX, -upZ) : Math.atan2(-upX, upZ)
}
