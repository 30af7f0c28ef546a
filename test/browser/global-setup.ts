import { chromiumPath } from './chromium.ts'

export default (): void => {
  if (chromiumPath === null && process.env.CI === 'true') throw new Error('no Chromium to test with')
}
