import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anglePerPixel,
  decelerate,
  degree,
  deviceRotation,
  front,
  halfExtent,
  headingOf,
  type Rotation,
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

/** The directions of the center, the upper edge and the right edge of the screen. */
const axesOf = (rotation: Rotation) => [ahead, up, right].map((each) => rotate(rotation, each))

function assertAxes(rotation: Rotation, expected: Record<'ahead' | 'up' | 'right', Vector>) {
  assertNear(axesOf(rotation).flat(), [...expected.ahead, ...expected.up, ...expected.right])
}

test('the view starts at the front; yaw turns it right, pitch turns it up', () => {
  assertAxes(rotationOf(front), { ahead, up, right })
  assertNear(rotate(rotationOf(turn(front, 90 * degree, 0)), ahead), [1, 0, 0])
  assertNear(rotate(rotationOf(turn(front, 180 * degree, 0)), ahead), [0, 0, 1])
  assertNear(rotate(rotationOf(turn(front, 0, 90 * degree)), ahead), [0, 1, 0])
  assertNear(rotate(rotationOf(turn(front, 90 * degree, -90 * degree)), ahead), [0, -1, 0])
})

test('the horizon is level in every direction', () => {
  for (const yaw of [0, 37, 90, 181, -120]) {
    for (const pitch of [-90, -45, 0, 10, 89]) {
      const rotation = rotationOf(turn(front, yaw * degree, pitch * degree))
      assert.ok(Math.abs(rotate(rotation, right)[1]) < 1e-9, `${yaw}°, ${pitch}°`)
      assert.ok(rotate(rotation, up)[1] > -1e-9, `${yaw}°, ${pitch}°: upside down`)
    }
  }
})

test('yaw wraps around, pitch stops at the poles', () => {
  assert.equal(inDegrees(turn(turn(front, 170 * degree, 0), 20 * degree, 0).yaw), -170)
  assert.equal(inDegrees(turn(front, -725 * degree, 0).yaw), -5)
  assert.equal(inDegrees(turn(front, 0, 200 * degree).pitch), 90)
  assert.equal(inDegrees(turn(front, 0, -200 * degree).pitch), -90)
})

test('the field of view is between 30° and 100°', () => {
  assert.equal(inDegrees(zoom(front, 1000).fov), 30)
  assert.equal(inDegrees(zoom(front, 0.001).fov), 100)
  assert.equal(inDegrees(zoom(zoom(front, 1.5), 1 / 1.5).fov), inDegrees(front.fov))
  assert.ok(Math.abs(Math.tan(zoom(front, 2).fov / 2) - Math.tan(front.fov / 2) / 2) < 1e-9)
})

test('the field of view is measured along the longer side, and pixels are square', () => {
  assertNear(halfExtent(90 * degree, 1600, 900), [1, 9 / 16])
  assertNear(halfExtent(90 * degree, 900, 1600), [9 / 16, 1])
  assert.ok(halfExtent(90 * degree, 0, 0).every(Number.isFinite))
})

test('the center of the view follows the pointer', () => {
  const onePixel = anglePerPixel(60 * degree, 1000)
  assert.ok(Math.abs(Math.tan(onePixel) - halfExtent(60 * degree, 1000, 500)[0] / 500) < 1e-6)
})

test('a glide slows down, and covers the same distance in one step as in many', () => {
  const whole = decelerate(0.01, 200)
  let speed = 0.01
  let distance = 0
  for (let i = 0; i < 20; i++) {
    const step = decelerate(speed, 10)
    speed = step.speed
    distance += step.distance
  }
  assertNear([speed, distance], [whole.speed, whole.distance])
  assert.ok(whole.speed < 0.005)
  assert.ok(decelerate(0.01, 60_000).distance < 3)
})

test('the view is that through the device: flat on a table down, upright ahead, overhead up', () => {
  assertNear(rotate(deviceRotation(0, 0, 0, 0), ahead), [0, -1, 0])
  assertAxes(deviceRotation(0, 90, 0, 0), { ahead, up, right })
  assertNear(rotate(deviceRotation(0, 180, 0, 0), ahead), [0, 1, 0])
})

test('turning the device to the left turns the view to the left', () => {
  assertNear(rotate(deviceRotation(90, 90, 0, 0), ahead), [-1, 0, 0])
  assertNear(rotate(deviceRotation(270, 90, 0, 0), ahead), [1, 0, 0])
  assertNear(
    [30, 90, 200].map((alpha) => Math.cos(headingOf(deviceRotation(alpha, 80, 0, 0)) + alpha * degree)),
    [1, 1, 1],
  )
})

test('in landscape orientation the horizon is level, in both directions', () => {
  const east = { ahead: [1, 0, 0], up, right: [0, 0, 1] } as const
  assertAxes(deviceRotation(0, 0, -90, 90), east)
  assertAxes(deviceRotation(180, 0, 90, 270), east)
  // The device itself is turned by 90°.
  assertNear(rotate(deviceRotation(0, 0, -90, 0), up), [0, 0, -1])
})

test('looking down or up, the upper edge of the device gives the heading', () => {
  assert.equal(inDegrees(headingOf(deviceRotation(300, 0, 0, 0))), 60)
  assert.equal(inDegrees(headingOf(deviceRotation(300, 5, 0, 0))), 60)
  assert.equal(inDegrees(headingOf(deviceRotation(300, 175, 0, 0))), 60)
})

test('the front is the initial heading of the device, and dragging is added to it', () => {
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
