import { describe, expect, test } from 'vitest'
import { closeFrame, FrameTracker } from '../../../src/gateway/sockets/frames.ts'

const text = Buffer.from([0x81, 2, 0x68, 0x69])
const medium = Buffer.concat([Buffer.from([0x82, 126, 1, 0]), Buffer.alloc(256)])
const long = Buffer.concat([Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70]), Buffer.alloc(70_000)])
const masked = Buffer.from([0x81, 0x82, 1, 2, 3, 4, 5, 6])

describe('FrameTracker', () => {
  test.each([
    ['an empty frame', Buffer.from([0x81, 0])],
    ['a short frame', text],
    ['a frame with a 16-bit length', medium],
    ['a frame with a 64-bit length', long],
    ['a masked frame', masked],
    ['several frames', Buffer.concat([text, medium, masked, text])],
  ])('acceptsClose after %s, however it is split, and not within it', (_name, frame) => {
    for (const size of [1, 3, 7, frame.length]) {
      const tracker = new FrameTracker()
      expect(tracker.acceptsClose).toBe(true)
      for (let at = 0; at < frame.length; at += size) tracker.push(frame.subarray(at, at + size))
      expect(tracker.acceptsClose, `chunks of ${size}`).toBe(true)
    }
    const partial = new FrameTracker()
    partial.push(frame.subarray(0, frame.length - 1))
    expect(partial.acceptsClose).toBe(false)
  })

  test('acceptsClose is false after a close frame', () => {
    const tracker = new FrameTracker()
    tracker.push(closeFrame(1000, 'done'))
    expect(tracker.acceptsClose).toBe(false)
  })
})

test('closeFrame: contains the code and the reason', () => {
  expect([...closeFrame(1008, 'idle')]).toEqual([0x88, 6, 0x03, 0xf0, ...Buffer.from('idle')])
})
