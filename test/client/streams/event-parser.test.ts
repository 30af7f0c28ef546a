import { array, assert, constantFrom, property } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EventParser, maxEventLength, type Position } from '../../../src/client/streams/event-parser.ts'

function parse(parts: readonly string[], lastEventId = '') {
  const position: Position = { lastEventId, retryMs: 1_000 }
  const parser = new EventParser(position)
  return { events: parts.flatMap((part) => [...parser.read(part)]), position }
}
function message(data: string, id = '', event = 'message') {
  return { id, event, data }
}

describe('EventParser', () => {
  // The examples of the HTML standard, 9.2.6, and its rules for fields.
  test.each([
    ['lines of data are joined', 'data: YHOO\ndata: +2\ndata: 10\n\n', [message('YHOO\n+2\n10')]],
    [
      'comments and ids',
      ': test\n\ndata: first\nid: 1\n\ndata:second\nid\n\ndata:  third\n\n',
      [message('first', '1'), message('second'), message(' third')],
    ],
    ['empty data is an event, an empty block is none', 'data\n\ndata\ndata\n\ndata:', [message(''), message('\n')]],
    ['one space after the colon is removed', 'data:test\n\ndata: test\n\n', [message('test'), message('test')]],
    [
      'an event has a type for one block',
      'event: add\ndata: 1\n\ndata: 2\n\n',
      [message('1', '', 'add'), message('2')],
    ],
    ['a type without data is dropped', 'event: add\n\ndata: 2\n\n', [message('2')]],
    ['an id remains for the next events', 'id: 7\ndata: 1\n\ndata: 2\n\n', [message('1', '7'), message('2', '7')]],
    ['an id with a null character is ignored', 'id: 7\nid: a\0b\ndata: 1\n\n', [message('1', '7')]],
    ['an unknown field is ignored, and names have a case', 'Data: 1\nother: 2\n data: 3\n\n', []],
    ['an incomplete block is dropped', 'id: 9\ndata: 1\n', []],
    ['a colon is part of the value', 'data: a:b\n\n', [message('a:b')]],
  ])('%s', (_, text, events) => {
    expect(parse([text]).events).toEqual(events)
  })

  test('the position has the id of the last complete block, also of one without data', () => {
    expect(parse(['id: 1\n\nid: 2\ndata: x']).position.lastEventId).toBe('1')
    expect(parse(['data: x\n\n'], '5').events).toEqual([message('x', '5')])
    expect(parse(['id:\n\n'], '5').position.lastEventId).toBe('')
  })

  test.each([
    ['500', 500],
    ['0', 0],
    ['-1', 1_000],
    ['1e3', 1_000],
    ['5s', 1_000],
    ['', 1_000],
  ])('retry: %s sets %i ms', (value, expected) => {
    expect(parse([`retry: ${value}\n`]).position.retryMs).toBe(expected)
  })

  test('any division into parts and any ends of lines result in the same events', () => {
    const lines = array(constantFrom('data: a', 'data', 'event: b', 'id: 1', 'id', ': c', '', '', 'x'), {
      maxLength: 20,
    })
    const ends = array(constantFrom('\n', '\r', '\r\n'), { minLength: 20, maxLength: 20 })
    assert(
      property(lines, ends, array(constantFrom(1, 2, 3)), (all, ending, sizes) => {
        const expected = parse([all.map((line) => `${line}\n`).join('')])
        // A carriage return before an empty line that ends in a line feed would join with it.
        const endOf = (line: string, index: number) => (line === '' && ending[index] === '\n' ? '\r' : ending[index])
        const text = all.map((line, index) => line + endOf(line, index)).join('')
        const parts: string[] = []
        let at = 0
        for (const size of [...sizes, text.length]) {
          parts.push(text.slice(at, at + size))
          at += size
        }
        expect(parse(parts)).toEqual(expected)
      }),
    )
  })

  test('an event above the limit is a RangeError, as one line, as many, and in small parts', () => {
    const full = 'x'.repeat(maxEventLength)
    expect(() => parse([`data: ${full}\n\n`])).toThrow(RangeError)
    expect(() => parse([...`data: ${full}`.matchAll(/.{1,1000}/g)].map(([part]) => part))).toThrow(RangeError)
    expect(() => parse(Array.from({ length: 2_000 }, () => `data: ${'x'.repeat(1_000)}\n`))).toThrow(RangeError)
    expect(() => parse([`: ${full}`])).toThrow(RangeError)
    expect(parse(Array.from({ length: 2_000 }, () => `data: ${'x'.repeat(1_000)}\n\n`)).events).toHaveLength(2_000)
  })

  test('an event at the limit arrives in short time, however small its parts are', () => {
    const parts = [...`data: ${'x'.repeat(maxEventLength - 10)}\n\n`]
    expect(parse(parts).events).toHaveLength(1)
  })
})
