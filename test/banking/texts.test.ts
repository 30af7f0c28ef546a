import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Domain } from '../../src/api/domain.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { localeDirectories } from '../../src/compose/catalogue.ts'
import { joinContracts } from '../../src/contract/catalogue.ts'
import { canDemandStepUp } from '../../src/contract/step-up-purpose.ts'
import { locales } from '../../src/kernel/index.ts'
import { readTexts } from '../../src/platform/i18n/index.ts'

const expectedFiles = locales.map((locale) => `${locale}.yaml`).sort()

/** Texts that handlers use by their key. */
const others: Readonly<Record<string, RegExp>> = {
  apiKeys: /^(purpose\.apiKey\.(disable|delete)|notice\.operatorKey\.(create|enable|disable|delete|expire))$/,
  members: /^notice\.owners\.OPERATOR$/,
  operators: /^notice\.decision\./,
}

function declaredBy({ name, contract = {}, ownerNotices = [] }: Domain): ReadonlySet<string> {
  const { catalogue } = joinContracts({}, { [name]: contract })
  const { operations, codes, codedFamilies, ledgerTypes, workspacePermissions, operatorPermissions } = catalogue
  return new Set([
    ...codes.flatMap((code) => [`refusal.${code}`, `refusal.${code}_field`]),
    ...[...ledgerTypes.flowTypes.keys()].flatMap((code) =>
      ['label', 'description'].map((part) => `coded.flowType.${code}.${part}`),
    ),
    ...[...codedFamilies.values()].flatMap((family) =>
      Object.keys(family.values).flatMap((code) =>
        ['label', 'description'].map((part) => `coded.${family.name}.${code}.${part}`),
      ),
    ),
    ...[...workspacePermissions, ...operatorPermissions].flatMap((code) =>
      ['name', 'description'].map((part) => `permission.${code}.${part}`),
    ),
    ...ownerNotices.flatMap((kind) => ['event', 'advice'].map((part) => `notice.owners.${kind}.${part}`)),
    ...operations.filter(canDemandStepUp).map(({ id }) => `purpose.${id}`),
  ])
}

describe('texts of domains', () => {
  test.each(bankingDomains.map((domain) => [domain.name, domain] as const))('%s: belong to it', (name, domain) => {
    const keys = domain.locales ? Object.keys(readTexts(fileURLToPath(domain.locales), 'en')) : []
    const declared = declaredBy(domain)
    for (const kind of domain.ownerNotices ?? []) expect(keys).toContain(`notice.owners.${kind}.advice`)
    expect(keys.filter((key) => !declared.has(key) && !others[name]?.test(key))).toEqual([])
  })

  test('are declared once, in one file per language', () => {
    for (const directory of localeDirectories) expect(readdirSync(directory).sort()).toEqual(expectedFiles)
    const keys = localeDirectories.flatMap((directory) => Object.keys(readTexts(directory, 'en')))
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
  })

  test('every mail has one file per language', () => {
    for (const { mails } of bankingDomains) {
      const folder = mails ? fileURLToPath(mails.directory) : ''
      const names = Object.keys(mails?.templates ?? {})
      if (folder) expect(readdirSync(folder).sort()).toEqual(names.sort())
      for (const name of names) expect(readdirSync(join(folder, name)).sort()).toEqual(expectedFiles)
    }
  })
})
