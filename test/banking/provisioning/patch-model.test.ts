import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type GroupFacts, patchGroup } from '../../../src/banking/provisioning/scim/group.ts'
import { type Person, patchPerson } from '../../../src/banking/provisioning/scim/person.ts'
import type { PatchOperation } from '../../../src/contract/scim/schemas.ts'

/* Sequences of PATCH operations in every published shape, against a model that knows only values. */

type Pick = <T>(items: readonly T[]) => T

/** Runs `check` with choices that fast-check shrinks. */
function repeat(check: (pick: Pick) => void): void {
  fc.assert(
    fc.property(fc.gen(), (generate) => {
      check((items) => generate(fc.constantFrom, ...items))
    }),
    { numRuns: 300 },
  )
}

const spelled = (pick: Pick, op: string): string =>
  pick([op, op.toUpperCase(), op.slice(0, 1).toUpperCase() + op.slice(1)])

const texts = ['userName', 'externalId', 'displayName', 'givenName', 'familyName', 'formatted', 'email'] as const
const paths = {
  userName: ['userName', 'USERNAME', 'urn:ietf:params:scim:schemas:core:2.0:User:userName'],
  externalId: ['externalId'],
  displayName: ['displayName', 'displayname'],
  givenName: ['name.givenName'],
  familyName: ['name.familyName'],
  formatted: ['name.formatted'],
  email: ['emails[type eq "work"].value', 'emails[primary eq true].value', 'emails.value'],
} as const

function step(pick: Pick, model: Person): { operation: PatchOperation; after: Person } {
  const field = pick([...texts, 'active', 'ignored', 'removed'] as const)
  const op = spelled(pick, pick(['add', 'replace']))
  if (field === 'ignored')
    return {
      operation: { op, path: pick(['nickName', 'emails[type eq "home"].value']), value: 'x@y.example' },
      after: model,
    }
  if (field === 'removed') {
    const name = pick(['externalId', 'displayName', 'givenName'] as const)
    return { operation: { op: spelled(pick, 'remove'), path: pick(paths[name]) }, after: { ...model, [name]: null } }
  }
  if (field === 'active') {
    const active = pick([true, false])
    const value = pick([active, String(active), active ? 'True' : 'False'])
    const operation = pick([
      { op, path: 'active', value },
      { op, value: { active: value } },
    ])
    return { operation, after: { ...model, active } }
  }
  const value = `${pick(['a', 'b', 'c', 'd'])}@corp.example`
  const path = pick(paths[field])
  const operation = pick([
    { op, path, value },
    { op, value: { [path]: value } },
  ])
  return { operation, after: { ...model, [field]: value } }
}

test('a person after a sequence of operations', () => {
  repeat((pick) => {
    let person: Person = {
      ...{ userName: 'a', externalId: null, displayName: null, formatted: null, givenName: null, familyName: null },
      ...{ email: 'a@corp.example', active: true },
    }
    let model = person
    for (let round = 0; round < 8; round++) {
      const steps: PatchOperation[] = []
      for (let count = 0; count < pick([1, 2, 5]); count++) {
        const { operation, after } = step(pick, model)
        steps.push(operation)
        model = after
      }
      person = patchPerson(person, steps)
      expect(person).toEqual(model)
    }
  })
})

const ids = ['one', 'two', 'three', 'four']

function groupStep(pick: Pick, model: ReadonlySet<string>): { operation: PatchOperation; after: Set<string> } {
  const some = [...new Set([pick(ids), pick(ids)])]
  const value = some.map((id) => ({ $ref: null, value: id }))
  const kind = pick(['add', 'replace', 'remove', 'filter', 'clear'] as const)
  switch (kind) {
    case 'add':
    case 'replace': {
      const op = spelled(pick, kind)
      const operation = pick([
        { op, path: 'members', value },
        { op, value: { members: value } },
      ])
      return { operation, after: new Set(kind === 'add' ? [...model, ...some] : some) }
    }
    case 'remove':
      return {
        operation: { op: spelled(pick, 'remove'), path: 'members', value },
        after: new Set([...model].filter((id) => !some.includes(id))),
      }
    case 'filter': {
      const id = pick(ids)
      const operation = { op: 'remove', path: `members[value eq "${id}"]` }
      return { operation, after: new Set([...model].filter((each) => each !== id)) }
    }
    case 'clear':
      return { operation: { op: 'remove', path: 'members' }, after: new Set() }
  }
}

test('a group after a sequence of operations', () => {
  repeat((pick) => {
    let group: GroupFacts = { displayName: 'G', externalId: null, members: new Set() }
    let model: ReadonlySet<string> = new Set()
    for (let round = 0; round < 12; round++) {
      const { operation, after } = groupStep(pick, model)
      model = after
      group = patchGroup(group, [operation])
      expect([...group.members].toSorted()).toEqual([...model].toSorted())
    }
  })
})

test.each<[string, PatchOperation, string]>([
  ['an unknown operation', { op: 'move', path: 'active' }, 'PROVISIONING.INVALID_SYNTAX'],
  ['a removal without a path', { op: 'remove' }, 'PROVISIONING.INVALID_PATH'],
  ['no object without a path', { op: 'add', value: 'x' }, 'VALIDATION.INVALID_PARAMETER'],
  ['a removed user name', { op: 'remove', path: 'userName' }, 'VALIDATION.INVALID_PARAMETER'],
  ['a removed address', { op: 'remove', path: 'emails' }, 'VALIDATION.INVALID_PARAMETER'],
  ['an address that is none', { op: 'replace', path: 'emails.value', value: 'x' }, 'VALIDATION.INVALID_PARAMETER'],
  ['a status that is none', { op: 'replace', path: 'active', value: 'no' }, 'VALIDATION.INVALID_PARAMETER'],
  ['a status as a number', { op: 'replace', path: 'active', value: 0 }, 'VALIDATION.INVALID_PARAMETER'],
])('%s is refused, and nothing changes', (_, operation, code) => {
  const person: Person = {
    ...{ userName: 'a', externalId: null, displayName: null, formatted: null, givenName: null, familyName: null },
    ...{ email: 'a@corp.example', active: true },
  }
  const before = structuredClone(person)
  const operations = [{ op: 'replace', path: 'displayName', value: 'changed' }, operation]
  expect(() => patchPerson(person, operations)).toThrow(expect.objectContaining({ code }))
  expect(person).toEqual(before)
})

test('a group with more than 1,000 members is refused', () => {
  const many = (from: number) => Array.from({ length: 600 }, (_, index) => ({ value: `member-${from + index}` }))
  const group = { displayName: 'G', externalId: null, members: new Set<string>() }
  const operations = [0, 600].map((from) => ({ op: 'add', path: 'members', value: many(from) }))
  expect(patchGroup(group, operations.slice(0, 1)).members.size).toBe(600)
  expect(() => patchGroup(group, operations)).toThrow(expect.objectContaining({ code: 'PROVISIONING.TOO_MANY' }))
})
