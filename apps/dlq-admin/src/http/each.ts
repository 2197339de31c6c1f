import { ValidateBy } from 'class-validator';

/** Every item of a list satisfies the test. */
export function Each(test: (item: string) => boolean, allowed: string): PropertyDecorator {
  return ValidateBy({
    name: 'each',
    validator: {
      validate: (value: unknown) =>
        Array.isArray(value) && value.every((item) => typeof item === 'string' && test(item)),
      defaultMessage: () => `each item of $property must be ${allowed}`,
    },
  });
}
