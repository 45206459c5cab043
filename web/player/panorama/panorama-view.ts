// The geometry of the 360° view. Coordinates are those of WebGL: x right, y up, and -z ahead, where the center of the video
// is. Angles are in radians unless the name says degrees.

/** Yaw grows to the right and pitch upward. The field of view is measured along the longer side of the canvas. */
export type View = { yaw: number; pitch: number; fov: number }

export type Vector = readonly [x: number, y: number, z: number]

/** From screen to world coordinates, as a column-major matrix for WebGL. */
export type Rotation = readonly [...Vector, ...Vector, ...Vector]

/** The orientation of the device, and its heading at the start, where the front of the video is. */
export type Device = { rotation: Rotation; heading: number }

export const degree = Math.PI / 180
const minFov = 30 * degree
/** A wider view distorts the edges too much. */
const maxFov = 100 * degree

export const front: View = { yaw: 0, pitch: 0, fov: 90 * degree }

const clamp = (value: number, from: number, to: number) => Math.min(to, Math.max(from, value))

/** Normalizes an angle to the range from -π to π. */
const wrap = (angle: number) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI))

/** The pitch ends at the poles, because the view would be upside down beyond them. */
export const turn = (view: View, yaw: number, pitch: number): View => ({
  ...view,
  yaw: wrap(view.yaw + yaw),
  pitch: clamp(view.pitch + pitch, -Math.PI / 2, Math.PI / 2),
})

/** Magnifies the center of the view by a factor. */
export const zoom = (view: View, factor: number): View => ({
  ...view,
  fov: clamp(2 * Math.atan(Math.tan(view.fov / 2) / factor), minFov, maxFov),
})

/** The angle that moves the center of the view by one pixel. */
export const anglePerPixel = (fov: number, longerSide: number) =>
  (2 * Math.tan(fov / 2)) / Math.max(1, longerSide)

/** Half the width and height of the view plane at distance 1. */
export function halfExtent(fov: number, width: number, height: number): [x: number, y: number] {
  const perPixel = Math.tan(fov / 2) / Math.max(1, width, height)
  return [width * perPixel, height * perPixel]
}

/** The remaining speed after an exponential deceleration, and the distance covered. */
export function decelerate(speed: number, elapsedMs: number): { speed: number; distance: number } {
  const timeConstantMs = 250
  const factor = Math.exp(-elapsedMs / timeConstantMs)
  return { speed: speed * factor, distance: speed * timeConstantMs * (1 - factor) }
}

function rotationX(angle: number): Rotation {
  const [c, s] = [Math.cos(angle), Math.sin(angle)]
  return [1, 0, 0, 0, c, s, 0, -s, c]
}

function rotationY(angle: number): Rotation {
  const [c, s] = [Math.cos(angle), Math.sin(angle)]
  return [c, 0, -s, 0, 1, 0, s, 0, c]
}

function rotationZ(angle: number): Rotation {
  const [c, s] = [Math.cos(angle), Math.sin(angle)]
  return [c, s, 0, -s, c, 0, 0, 0, 1]
}

export const rotate = (r: Rotation, [x, y, z]: Vector): Vector => [
  r[0] * x + r[3] * y + r[6] * z,
  r[1] * x + r[4] * y + r[7] * z,
  r[2] * x + r[5] * y + r[8] * z,
]

/** Multiplies rotations. The last one is applied first. */
const multiply = (...rotations: Rotation[]): Rotation =>
  rotations.reduce((a, b) => [
    ...rotate(a, [b[0], b[1], b[2]]),
    ...rotate(a, [b[3], b[4], b[5]]),
    ...rotate(a, [b[6], b[7], b[8]]),
  ])

/** Adds the view to the orientation of the device. Yaw turns around the vertical axis, so that the horizon stays level. */
export const rotationOf = ({ yaw, pitch }: View, device?: Device): Rotation =>
  device
    ? multiply(rotationY(device.heading - yaw), device.rotation, rotationX(pitch))
    : multiply(rotationY(-yaw), rotationX(pitch))

/**
 * Converts the angles of a deviceorientation event. In its world coordinates x is east, y north and z up. In its device
 * coordinates x is right and y is the top of the screen in its natural orientation. The screen angle is the rotation of
 * the displayed content.
 */
export const deviceRotation = (
  alphaDegrees: number,
  betaDegrees: number,
  gammaDegrees: number,
  screenDegrees: number,
): Rotation =>
  multiply(
    rotationX(-Math.PI / 2),
    rotationZ(alphaDegrees * degree),
    rotationX(betaDegrees * degree),
    rotationY(gammaDegrees * degree),
    rotationZ(-screenDegrees * degree),
  )

/** The yaw of the view direction. Near the poles it is unreliable, so the upper edge of the screen is used there. */
export function headingOf(rotation: Rotation): number {
  const [x, y, z] = rotate(rotation, [0, 0, -1])
  if (Math.abs(y) < 0.9) return Math.atan2(x, -z)
  const [upX, , upZ] = rotate(rotation, [0, 1, 0])
  return y < 0 ? Math.atan2(upX, -upZ) : Math.atan2(-upX, upZ)
}
