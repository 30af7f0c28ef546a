import { expect, test } from 'vitest'
import { pendingMigrations, type SchemaOwner, sqlMigration } from '../../../src/database/migrator/migration.ts'

const owner = (name: string, ...migrations: string[]): SchemaOwner => ({
  owner: name,
  migrations: migrations.map((each) => sqlMigration(each, [])),
})
const applied = (name: string, ...migrations: string[]) => migrations.map((each) => ({ owner: name, name: each }))
const namesOf = (...values: Parameters<typeof pendingMigrations>): string[] =>
  pendingMigrations(...values).map((each) => `${each.owner}/${each.name}`)

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

test.each([
  ['inserted', owner('loans', '001-baseline', '002-rates', '003-terms')],
  ['renamed', owner('loans', '001-baseline', '002-conditions')],
  ['removed', owner('loans', '002-terms')],
])('a migration that was %s after it was applied is refused', (_, changed) => {
  expect(() => pendingMigrations([changed], applied('loans', '001-baseline', '002-terms'))).toThrow(
    /the store has applied loans\/00/,
  )
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
