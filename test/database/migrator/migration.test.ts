import { expect, test } from 'vitest'
import { pendingMigrations, type SchemaOwner, sqlMigration } from '../../../src/database/migrator/migration.ts'
import { isOlder, type Release, thisRelease } from '../../../src/database/migrator/release.ts'

function owner(name: string, ...migrations: string[]): SchemaOwner {
  return {
    owner: name,
    migrations: migrations.map((each) => sqlMigration(each, [])),
  }
}
function applied(name: string, ...migrations: string[]) {
  return appliedBy(null, name, ...migrations)
}
function appliedBy(release: Release | null, name: string, ...migrations: string[]) {
  return migrations.map((each) => ({ owner: name, name: each, checksum: null, release }))
}
function namesOf(...values: Parameters<typeof pendingMigrations>): string[] {
  return pendingMigrations(...values).map((each) => `${each.owner}/${each.name}`)
}

const loans = owner('loans', '001-baseline', '002-terms')

test('an empty store runs everything, owner by owner', () => {
  const names = ['loans/001-baseline', 'loans/002-terms', 'accounts/001-baseline']
  expect(namesOf([loans, owner('accounts', '001-baseline')], [])).toEqual(names)
})

test('each owner continues after its own last migration', () => {
  const records = applied('loans', '001-baseline')
  expect(namesOf([loans, owner('cards', '001-baseline')], records)).toEqual(['loans/002-terms', 'cards/001-baseline'])
})

test('the order in which the store returns its records does not count', () => {
  expect(namesOf([loans], applied('loans', '002-terms', '001-baseline'))).toEqual([])
})

test('a store that a newer version has migrated has nothing pending', () => {
  expect(namesOf([loans], applied('loans', '001-baseline', '002-terms', '003-rates'))).toEqual([])
})

test('records of an owner that this version does not have are ignored', () => {
  expect(namesOf([loans], [...applied('loans', '001-baseline', '002-terms'), ...applied('cards', '001-x')])).toEqual([])
})

const next = { version: '0.2.0', compatibleWith: '0.1.0' }
const later = { version: '0.3.1', compatibleWith: '0.2.0' }

test.each([
  ['the next release', next, ['001-baseline', '002-terms', '003-rates']],
  ['a later release, but only with migrations of this one', later, ['001-baseline', '002-terms']],
])('a schema of %s is accepted', (_name, release, names) => {
  expect(pendingMigrations([loans], appliedBy(release, 'loans', ...names), thisRelease)).toEqual([])
})

test.each(['loans', 'cards'])('a schema of a later release (%s) is refused with both versions', (name) => {
  const records = appliedBy(later, name, '001-baseline', '002-terms', '003-rates')
  const known = owner('loans', '001-baseline', '002-terms')
  expect(() => pendingMigrations([known], records, { version: '0.1.9', compatibleWith: '0.1.0' })).toThrow(
    /^Portico 0\.3\.1 has migrated the store \(\w+\/00\d-\w+\), and this is Portico 0\.1\.9: start 0\.2\.0 or a newer version$/,
  )
  expect(pendingMigrations([known], records, { version: '0.2.0', compatibleWith: '0.1.0' })).toEqual(
    name === 'loans' ? [] : expect.any(Array),
  )
})

test('isOlder compares major, minor and patch numbers', () => {
  const pairs = [
    ['0.1.0', '0.2.0'],
    ['0.9.0', '0.10.0'],
    ['1.9.9', '2.0.0'],
    ['0.1.0', '0.1.1'],
  ] as const
  for (const [older, newer] of pairs) expect([isOlder(older, newer), isOlder(newer, older)]).toEqual([true, false])
  expect([isOlder('1.2.3', '1.2.3'), isOlder('0.2.0-beta.1', '0.2.0')]).toEqual([false, false])
})

test.each([
  ['inserted', owner('loans', '001-baseline', '002-rates', '003-terms')],
  ['renamed', owner('loans', '001-baseline', '002-conditions')],
  ['removed', owner('loans', '002-terms')],
])('a migration that was %s after it was applied is refused', (_, changed) => {
  expect(() => pendingMigrations([changed], applied('loans', '001-baseline', '002-terms'))).toThrow(
    /the store has applied loans\/00/,
  )
})

test('migrate: a checksum ignores white space, and only white space', () => {
  expect(() => sqlMigration('001-rewards', [[] as never])).toThrow('001-rewards has a list: spread it')
  const checksumOf = (...statements: string[]) => sqlMigration('001-baseline', statements).checksum
  expect(checksumOf('CREATE TABLE a ()\n')).toBe(checksumOf(' CREATE  TABLE a ()'))
  expect(checksumOf('CREATE TABLE a ()')).not.toBe(checksumOf('CREATE TABLE A ()'))
  expect(checksumOf('SELECT 1', 'SELECT 2')).not.toBe(checksumOf('SELECT 1 SELECT 2'))
})

test('migrate: an applied migration with other statements, or with none, is refused by its name', () => {
  const [baseline] = loans.migrations
  const records = appliedBy(next, 'loans', '001-baseline').map((each) => ({
    ...each,
    checksum: baseline?.checksum ?? null,
  }))
  expect(namesOf([loans], records)).toEqual(['loans/002-terms'])
  const message =
    /^the migration loans\/001-baseline has changed since the store applied it: restore the applied one, .*\(applied by Portico 0\.2\.0, this is Portico \d/
  for (const changed of [sqlMigration('001-baseline', ['SELECT 1']), { name: '001-baseline', up: async () => {} }])
    expect(() => pendingMigrations([{ owner: 'loans', migrations: [changed] }], records)).toThrow(message)
})

test.each([
  ['a number twice', ['001-baseline', '001-terms'], 'must have a higher number than 001-baseline'],
  ['a name twice', ['001-baseline', '001-baseline'], 'must have a higher number than 001-baseline'],
  ['a number out of order', ['002-terms', '001-baseline'], 'must have a higher number than 002-terms'],
  ['a name without a number', ['baseline'], 'is not named like 001-baseline'],
  ['a number of two digits', ['01-baseline'], 'is not named like 001-baseline'],
])('%s is refused', (_, names, message) => {
  expect(() => pendingMigrations([owner('loans', ...names)], [])).toThrow(message)
})

test('two owners with one name are refused', () => {
  expect(() => pendingMigrations([loans, owner('loans', '001-baseline')], [])).toThrow('have the name loans')
})
