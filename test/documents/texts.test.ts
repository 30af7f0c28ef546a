import { expect, test } from 'vitest'
import { localeDirectories } from '../../src/compose/catalogue.ts'
import { bankingCatalogue, catalogueWith, resources } from '../../src/contract/index.ts'
import { foreignTexts } from '../../src/documents/index.ts'
import { codedFamily, locales } from '../../src/kernel/index.ts'
import { createWords } from '../../src/platform/i18n/index.ts'

function wordsOf({ codes, codedFamilies }: typeof bankingCatalogue, extensionTexts: Record<string, object> = {}) {
  return createWords({
    directories: localeDirectories,
    codes,
    families: codedFamilies,
    extensions: [{ owner: 'cards', texts: extensionTexts }],
  })
}

const cards = {
  codes: { 'CARD.NOT_ACTIVE': { status: 422 } },
  permissions: { workspace: { card: { sortOrder: 100_000, actions: ['read'] } } },
  cardStatus: codedFamily('cardStatus', { ACTIVE: 20000301 }),
}

const texts = {
  en: {
    refusal: { 'CARD.NOT_ACTIVE': 'the card is not active', 'CARD.NOT_ACTIVE_field': 'not active: {{field}}' },
    permission: { 'card:read': { name: 'View cards', description: 'See the cards of the workspace' } },
    coded: { cardStatus: { ACTIVE: { label: 'Active', description: 'The card can be used' } } },
  },
  ja: { refusal: { 'CARD.NOT_ACTIVE': 'カードは有効ではありません' } },
}

test('the document of the default gateway contains no texts', () => {
  expect(foreignTexts(bankingCatalogue, wordsOf(bankingCatalogue))).toEqual({})
})

test('the document has the texts of codes, permissions and coded values of other domains, as they were declared', () => {
  const catalogue = catalogueWith({ ...resources, cards })
  const internal = { 'cards.reminder': 'Your card expires soon' }
  const words = wordsOf(catalogue, { en: { ...texts.en, notice: internal }, ja: texts.ja })
  expect(foreignTexts(catalogue, words)).toEqual(texts)
  const copied = wordsOf(catalogue, foreignTexts(catalogue, words))
  for (const locale of locales)
    for (const code of Object.keys(cards.codes).filter(catalogue.isCode))
      expect(copied.refusal(code, locale, 'cardBizId')).toBe(words.refusal(code, locale, 'cardBizId'))
  expect(copied.text('refusal.CARD.NOT_ACTIVE', 'ja')).toBe('カードは有効ではありません')
})
