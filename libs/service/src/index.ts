import '#config';
export {};
