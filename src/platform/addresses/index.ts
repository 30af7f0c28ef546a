export { type AddressRange, covers, parseRange, versionOf } from './ranges.ts'
