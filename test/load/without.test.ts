import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { checkNames, checks, moduleOf, removeCheck } from './rig/checks.ts'
import { replacements } from './rig/replacements.ts'

test.each(checkNames)('%s: the source of its module declares the functions that are replaced', (name) => {
  const source = readFileSync(fileURLToPath(moduleOf(name)), 'utf8')
  const changed = stripTypeScriptTypes(removeCheck(source, name))
  for (const replaced of checks[name].names) {
    expect(changed).toContain(`\n${replaced} = replacements.${replaced}(${replaced})\n`)
    expect(changed).toMatch(new RegExp(`^(export )?(let|function) ${replaced}\\b`, 'm'))
  }
})

test('every replacement belongs to a check', () => {
  expect(checkNames.flatMap((name) => checks[name].names).toSorted()).toEqual(Object.keys(replacements).toSorted())
})

test('a source without the function is an error', () => {
  expect(() => removeCheck('export const otherStage = 1', 'access-code')).toThrow('accessCodeStage is declared 0 times')
})
