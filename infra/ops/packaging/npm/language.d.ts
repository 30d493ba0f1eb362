/** How many digits of an amount in minor units are behind the point, by ISO 4217: 2 of CNY, 0 of ISK. Browsers know other numbers of some. */
export function digits(currency: string): number;
