import { describe, expect, it } from 'vitest'
import type { Example, Examples } from '../../src/openapi/index.ts'
import { at, document, make, objectAt, parametersOf } from './document-reader.ts'
import { lint } from './lint.ts'

function having(id: string, example: Example): Examples {
  return {
    operations: new Map([[id, example]]),
    refusals: new Map(),
  }
}

const sealedDocument = await make(undefined, true)

/**
 * The interface has orders/{id}/completed and orders/wallet/{id}. The rule compares the templates only. No path matches
 * both, because the ids are UUIDs.
 */
function comparesTemplatesOnly(problem: { ruleId: string; message: string }): boolean {
  return problem.ruleId === 'no-ambiguous-paths' && /orders\/wallet\/\{wallet(_i|BizI)d\}/.test(problem.message)
}

interface Segment {
  literal: string
  isUuid: boolean
}

function segmentsOf(path: string): Segment[] {
  const [operation] = Object.values(objectAt(document, 'paths', path))
  const parameters = parametersOf(objectAt(operation))
  return path.split('/').map((literal) => {
    const parameter = parameters.find(({ name, in: place }) => place === 'path' && literal === `{${name}}`)
    return { literal, isUuid: at(parameter, 'schema', 'format') === 'uuid' }
  })
}

/** Whether one URL could match both. A literal segment is never a UUID. */
function areAmbiguous(one: Segment[], other: Segment[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ literal, isUuid }, at) => {
      const second = other[at]
      const isParameter = [literal, second?.literal].map((each) => each?.startsWith('{'))
      if (isParameter[0] === isParameter[1]) return isParameter[0] || literal === second?.literal
      return !(isUuid || second?.isUuid)
    })
  )
}

describe('a strict reader of the document', () => {
  it.each([
    ['it', document],
    ['the one with sealed bodies', sealedDocument],
  ])('%s is OpenAPI 3.1 by the strictest linter rules, including its examples', (_name, linted) => {
    const problems = lint(linted)
    expect(
      problems
        .filter((problem) => !comparesTemplatesOnly(problem))
        .map(({ ruleId, message }) => `${ruleId}: ${message}`),
    ).toEqual([])
    expect(problems.filter(comparesTemplatesOnly)).toHaveLength(2)
  })

  it('has no ambiguous paths', () => {
    const paths = Object.keys(objectAt(document, 'paths')).map((path) => ({ path, segments: segmentsOf(path) }))
    const ambiguous = paths.flatMap(({ path, segments }, place) =>
      paths.slice(place + 1).flatMap((other) => (areAmbiguous(segments, other.segments) ? [[path, other.path]] : [])),
    )
    expect(ambiguous).toEqual([])
    const text = (literal: string) => ({ literal, isUuid: false })
    expect(areAmbiguous([text('{id}'), text('completed')], [text('wallet'), text('{id}')])).toBe(true)
  })

  it('fails the linter with a wrong example', async () => {
    const reply = { version: '2.0.0', timestamp: 1, success: true, code: '2000', message: 'Success', data: 'yes' }
    const problems = lint(await make(having('transfers.completed', { reply })))
    expect(problems.map(({ ruleId }) => ruleId)).toContain('no-invalid-media-type-examples')
  })
})
