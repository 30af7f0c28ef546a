import * as z from 'zod'
import { anonymous, everyPortal } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'

export const summary = 'Countries and time zones.'

const named = { code: z.string(), value: z.int(), label: z.string() }

const Country = z.object({
  ...named,
  alpha2Code: z.string(),
  alpha3Code: z.string(),
  numericCode: z.int(),
  phoneCode: z.string(),
})

const Timezone = z.object({
  ...named,
  zoneIdCode: z.string(),
  utcOffset: z.string().meta({ examples: ['UTC+1'] }),
})

const get = { method: 'GET', chains: everyPortal, policy: anonymous, body: 'none', refuses: [] } as const

export const listCountries = operation({
  ...get,
  id: 'constants.countries',
  path: '/constants/countries',
  summary: 'List countries in the caller’s language',
  reply: z.array(Country),
})

export const listTimezones = operation({
  ...get,
  id: 'constants.timezones',
  path: '/constants/timezones',
  summary: 'List time zones with their current offsets',
  reply: z.array(Timezone),
})
