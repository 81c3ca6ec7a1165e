int known_early(void);
int main(void) { return known_early(); }
