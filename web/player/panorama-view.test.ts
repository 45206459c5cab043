import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anglePerPixel,
  degree,
  deviceRotation,
  front,
  glide,
  headingOf,
  type Rotation,
  reachOf,
  rotate,
  rotationOf,
  turn,
  type Vector,
  zoom,
} from './panorama-view.ts'

const ahead: Vector = [0, 0, -1]
const up: Vector = [0, 1, 0]
const right: Vector = [1, 0, 0]
const inDegrees = (angle: number) => Math.round((angle / degree) * 1000) / 1000 + 0

function assertNear(got: readonly number[], expected: readonly number[]) {
  const isNear =
    got.length === expected.length && got.every((each, i) => Math.abs(each - expected[i]!) < 1e-9)
  assert.ok(isNear, `${got} is not ${expected}`)
}

/** Where the middle of the screen, its upper and its right edge point to. */
const axesOf = (rotation: Rotation) => [ahead, up, right].map((each) => rotate(rotation, each))

function assertAxes(rotation: Rotation, expected: Record<'ahead' | 'up' | 'right', Vector>) {
  assertNear(axesOf(rotation).flat(), [...expected.ahead, ...expected.up, ...expected.right])
}

test('the view begins at the front, and a yaw turns it to the right, a pitch up', () => {
  assertAxes(rotationOf(front), { ahead, up, right })
  assertNear(rotate(rotationOf(turn(front, 90 * degree, 0)), ahead), [1, 0, 0])
  assertNear(rotate(rotationOf(turn(front, 180 * degree, 0)), ahead), [0, 0, 1])
  assertNear(rotate(rotationOf(turn(front, 0, 90 * degree)), ahead), [0, 1, 0])
  assertNear(rotate(rotationOf(turn(front, 90 * degree, -90 * degree)), ahead), [0, -1, 0])
})

test('the horizon stays level wherever one looks', () => {
  for (const yaw of [0, 37, 90, 181, -120]) {
    for (const pitch of [-90, -45, 0, 10, 89]) {
      const rotation = rotationOf(turn(front, yaw * degree, pitch * degree))
      assert.ok(Math.abs(rotate(rotation, right)[1]) < 1e-9, `${yaw}°, ${pitch}°`)
      assert.ok(rotate(rotation, up)[1] > -1e-9, `${yaw}°, ${pitch}°: upside down`)
    }
  }
})

test('turning goes round, but not over the poles', () => {
  assert.equal(inDegrees(turn(turn(front, 170 * degree, 0), 20 * degree, 0).yaw), -170)
  assert.equal(inDegrees(turn(front, -725 * degree, 0).yaw), -5)
  assert.equal(inDegrees(turn(front, 0, 200 * degree).pitch), 90)
  assert.equal(inDegrees(turn(front, 0, -200 * degree).pitch), -90)
})

test('the field of view goes from 30° to 100°', () => {
  assert.equal(inDegrees(zoom(front, 1000).fov), 30)
  assert.equal(inDegrees(zoom(front, 0.001).fov), 100)
  assert.equal(inDegrees(zoom(zoom(front, 1.5), 1 / 1.5).fov), inDegrees(front.fov))
  assert.ok(Math.abs(Math.tan(zoom(front, 2).fov / 2) - Math.tan(front.fov / 2) / 2) < 1e-9)
})

test('the field of view is that of the longer side, and pixels are square', () => {
  assertNear(reachOf(90 * degree, 1600, 900), [1, 9 / 16])
  assertNear(reachOf(90 * degree, 900, 1600), [9 / 16, 1])
  assert.ok(reachOf(90 * degree, 0, 0).every(Number.isFinite))
})

test('what is in the middle follows the finger', () => {
  const onePixel = anglePerPixel(60 * degree, 1000)
  assert.ok(Math.abs(Math.tan(onePixel) - reachOf(60 * degree, 1000, 500)[0] / 500) < 1e-6)
})

test('a glide slows down, and takes the same way in one step as in many', () => {
  const whole = glide(0.01, 200)
  let speed = 0.01
  let way = 0
  for (let i = 0; i < 20; i++) {
    const step = glide(speed, 10)
    speed = step.speed
    way += step.way
  }
  assertNear([speed, way], [whole.speed, whole.way])
  assert.ok(whole.speed < 0.005)
  assert.ok(glide(0.01, 60_000).way < 3)
})

test('a device is looked through: flat on a table down, upright ahead, overhead up', () => {
  assertNear(rotate(deviceRotation(0, 0, 0, 0), ahead), [0, -1, 0])
  assertAxes(deviceRotation(0, 90, 0, 0), { ahead, up, right })
  assertNear(rotate(deviceRotation(0, 180, 0, 0), ahead), [0, 1, 0])
})

test('a device that turns to the left turns the view to the left', () => {
  assertNear(rotate(deviceRotation(90, 90, 0, 0), ahead), [-1, 0, 0])
  assertNear(rotate(deviceRotation(270, 90, 0, 0), ahead), [1, 0, 0])
  assertNear(
    [30, 90, 200].map((alpha) => Math.cos(headingOf(deviceRotation(alpha, 80, 0, 0)) + alpha * degree)),
    [1, 1, 1],
  )
})

test('a screen held across is level, whichever way it was turned', () => {
  const east = { ahead: [1, 0, 0], up, right: [0, 0, 1] } as const
  assertAxes(deviceRotation(0, 0, -90, 90), east)
  assertAxes(deviceRotation(180, 0, 90, 270), east)
  // The device as such stands on its side.
  assertNear(rotate(deviceRotation(0, 0, -90, 0), up), [0, 0, -1])
})

test('the way a device looks is told by its upper edge where it looks down or up', () => {
  assert.equal(inDegrees(headingOf(deviceRotation(300, 0, 0, 0))), 60)
  assert.equal(inDegrees(headingOf(deviceRotation(300, 5, 0, 0))), 60)
  assert.equal(inDegrees(headingOf(deviceRotation(300, 175, 0, 0))), 60)
})

test('the front is where the device was turned to at first, and dragging goes on top', () => {
  const held = deviceRotation(200, 90, 0, 0)
  const heading = headingOf(held)
  assertAxes(rotationOf(front, { rotation: held, heading }), { ahead, up, right })
  const later = deviceRotation(170, 60, 0, 0)
  // 30° to the right and 30° down by the device, 60° to the right and 10° up by hand.
  assertAxes(
    rotationOf(turn(front, 60 * degree, 10 * degree), { rotation: later, heading }),
    Object.fromEntries(
      ['ahead', 'up', 'right'].map((name, i) => [
        name,
        axesOf(rotationOf(turn(front, 90 * degree, -20 * degree)))[i]!,
      ]),
    ) as Record<'ahead' | 'up' | 'right', Vector>,
  )
})
