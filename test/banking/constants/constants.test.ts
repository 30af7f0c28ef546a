import { describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/constants/contract.ts'
import { createConstants } from '../../../src/banking/constants/index.ts'
import { type Instant, type Locale, locales, toInstant } from '../../../src/kernel/index.ts'
import { isCountry } from '../../../src/platform/countries.ts'

const { handlers } = createConstants()
const summer = toInstant(Date.parse('2026-07-01T12:00:00Z'))
const winter = toInstant(Date.parse('2026-01-01T12:00:00Z'))

async function call(id: string, locale: Locale, receivedAt: Instant): Promise<unknown> {
  return handlers.get(id)?.({ locale, receivedAt } as never)
}
async function countries(locale: Locale) {
  return contract.listCountries.reply.parse(await call('constants.countries', locale, summer))
}
async function timezones(locale: Locale, at = summer) {
  return contract.listTimezones.reply.parse(await call('constants.timezones', locale, at))
}

describe('countries', () => {
  test.each(locales)('constants.countries 200: complete in %s', async (locale) => {
    const list = await countries(locale)
    expect(list.length).toBeGreaterThan(240)
    for (const country of list) {
      expect(country.alpha2Code).toMatch(/^[A-Z]{2}$/)
      expect(country.alpha3Code).toMatch(/^[A-Z]{3}$/)
      expect(country.phoneCode).toMatch(/^\+\d{1,4}$/)
      expect(country.label).not.toBe('')
      expect(country.label).not.toBe(country.alpha2Code)
      expect(country.value).toBe(country.numericCode)
    }
    expect(new Set(list.map((country) => country.code)).size).toBe(list.length)
    expect(new Set(list.map((country) => country.value)).size).toBe(list.length)
  })

  test('constants.countries 200: names and codes of Germany', async () => {
    const germany = async (locale: Locale) => (await countries(locale)).find((country) => country.code === 'DE')
    expect(await germany('en')).toEqual({
      code: 'DE',
      label: 'Germany',
      alpha2Code: 'DE',
      alpha3Code: 'DEU',
      value: 276,
      numericCode: 276,
      phoneCode: '+49',
    })
    expect((await germany('zh'))?.label).toBe('德国')
    expect((await germany('zh-Hant'))?.label).toBe('德國')
    expect((await germany('ja'))?.label).toBe('ドイツ')
    expect((await germany('vi'))?.label).toBe('Đức')
  })

  test('isCountry: accepts upper-case alpha-2 codes only', () => {
    expect([isCountry('DE'), isCountry('de'), isCountry('ZZ'), isCountry('')]).toEqual([true, false, false, false])
  })
})

describe('time zones', () => {
  const offset = async (zone: string, at: Instant) =>
    (await timezones('en', at)).find((one) => one.zoneIdCode === zone)?.utcOffset

  test('constants.timezones 200: offsets at the time of the request', async () => {
    expect([await offset('Europe/Berlin', winter), await offset('Europe/Berlin', summer)]).toEqual(['UTC+1', 'UTC+2'])
    expect([await offset('America/New_York', winter), await offset('America/New_York', summer)]).toEqual([
      'UTC-5',
      'UTC-4',
    ])
    expect(await offset('Asia/Kolkata', summer)).toBe('UTC+5:30')
    expect(await offset('America/St_Johns', winter)).toBe('UTC-3:30')
    expect(await offset('UTC', summer)).toBe('UTC+0')
  })

  test('constants.timezones 200: an offset changes at the transition', async () => {
    const before = toInstant(Date.parse('2026-03-29T00:59:59Z'))
    const after = toInstant(Date.parse('2026-03-29T01:00:00Z'))
    expect([await offset('Europe/Berlin', before), await offset('Europe/Berlin', after)]).toEqual(['UTC+1', 'UTC+2'])
  })

  test.each(locales)('constants.timezones 200: complete, with stable codes in %s', async (locale) => {
    const list = await timezones(locale)
    expect(list.length).toBeGreaterThan(400)
    for (const zone of list) {
      expect(zone.utcOffset).toMatch(/^UTC[+-]\d{1,2}(:\d{2})?$/)
      expect(zone.label).not.toBe('')
      expect(() => new Intl.DateTimeFormat('en', { timeZone: zone.zoneIdCode })).not.toThrow()
    }
    expect(new Set(list.map((zone) => zone.value)).size).toBe(list.length)
    expect(new Set(list.map((zone) => zone.code)).size).toBe(list.length)
    expect(list.find((zone) => zone.zoneIdCode === 'Europe/Berlin')).toMatchObject({
      code: 'EUROPE_BERLIN',
      value: 1229756374,
    })
  })

  test('constants.timezones 200: labels in the caller’s language', async () => {
    const berlin = async (locale: Locale) =>
      (await timezones(locale)).find((zone) => zone.zoneIdCode === 'Europe/Berlin')?.label
    expect(await Promise.all(locales.map(berlin))).toEqual([
      'Central European Time (Berlin)',
      '中欧时间 (Berlin)',
      '中歐時間 (Berlin)',
      '中央ヨーロッパ時間 (Berlin)',
      'Giờ Trung Âu (Berlin)',
    ])
  })

  test('constants.timezones 200: current IANA names', async () => {
    const names = (await timezones('en')).map((zone) => zone.zoneIdCode)
    expect(names).toEqual(expect.arrayContaining(['Asia/Kolkata', 'Asia/Ho_Chi_Minh', 'Europe/Kyiv', 'America/Nuuk']))
    expect(names).not.toEqual(expect.arrayContaining(['Asia/Calcutta']))
  })
})
